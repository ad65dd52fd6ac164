// Receives events, and refuses those that are not signed: `node receiver.ts PORT`
// Node.js runs TypeScript from 22.18 on; before that: `npx tsx receiver.ts PORT`
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';

// The secret of the endpoint, or what `sms listen --print-secret` prints.
const secret = process.env.SMS_WEBHOOK_SECRET;
if (!secret) throw new Error('SMS_WEBHOOK_SECRET is not set'); // anyone can sign with an empty key
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
const seen = new Set<string>();

function isGenuine(headers: IncomingHttpHeaders, body: string): boolean {
  const [id, at] = [headers['webhook-id'], headers['webhook-timestamp']];
  if (!(Math.abs(Date.now() / 1000 - Number(at)) <= 300)) return false;
  const expected = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest();
  return String(headers['webhook-signature']).split(' ').some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

createServer(async (request, answer) => {
  const body = await text(request).catch(() => ''); // it may break off
  if (!isGenuine(request.headers, body)) return answer.writeHead(400).end();
  answer.writeHead(204).end(); // at once: the work comes after
  const event = JSON.parse(body);
  if (seen.has(event.id)) return; // a delivery may arrive twice
  seen.add(event.id);
  console.log(event.type, event.data.id ?? event.data.phone);
}).listen(Number(process.argv[2] ?? 3000));
