// Sends a message, and again with the same key if the answer is lost: `node sender.ts NUMBER TEXT`
// Node.js runs TypeScript from 22.18 on; before that: `npx tsx sender.ts NUMBER TEXT`
import { randomUUID } from 'node:crypto';

const server = process.env.SMS_API_URL ?? 'http://127.0.0.1:8080';
const [to, body] = process.argv.slice(2);
const headers = {
  Authorization: `Bearer ${process.env.SMS_API_KEY}`,
  'Content-Type': 'application/json',
  'Idempotency-Key': randomUUID(), // better: the id of your order
};
const request = { method: 'POST', headers, body: JSON.stringify({ to, body }) };

async function send(attempts: number): Promise<Response> {
  const answer = await fetch(`${server}/api/v1/messages`, request).catch(() => null);
  if (answer && (answer.status < 500 && answer.status !== 429)) return answer;
  if (attempts === 1) throw new Error(`no answer: ${answer?.status ?? 'connection'}`);
  const seconds = Number(answer?.headers.get('Retry-After') ?? 1);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return send(attempts - 1);
}

const answer = await send(5);
const { data, meta, error } = await answer.json();
if (error) throw new Error(`${error.code}: ${error.message}`);
for (const message of data.messages) console.log(message.id, message.to, message.status);
// A number that is no number is not an error.
for (const { to, reason } of data.rejected) console.error(`no message to ${to}: ${reason}`);
console.log(`${meta.credits} charged, balance ${meta.balance}`);
