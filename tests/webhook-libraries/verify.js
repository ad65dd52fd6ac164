// Verifies deliveries with the libraries of npm. Reads one JSON object a line:
//   { secret, headers, body }
// and answers each with a line: { standardwebhooks: null or the error, stripe: ... }.
const readline = require('node:readline');
const { Webhook } = require('standardwebhooks');
const Stripe = require('stripe');

const { webhooks } = new Stripe('sk_test_unused');

function failureOf(verify) {
  try {
    verify();
    return null;
  } catch (error) {
    return error.message;
  }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { secret, headers, body } = JSON.parse(line);
  const verdict = {
    standardwebhooks: failureOf(() => new Webhook(secret).verify(body, headers)),
    stripe: failureOf(() =>
      webhooks.constructEvent(body, headers['x-connect-signature'], secret)),
  };
  console.log(JSON.stringify(verdict));
});
