// Verifies a request with a library from npm. Reads the library, the secret, the headers, and the body as JSON; prints the
// event, or that the library refuses the request.
import { readFileSync } from "node:fs";

const { library, secret, headers, body } = JSON.parse(readFileSync(0, "utf8"));
const { Webhook, WebhookVerificationError } = await import(library);
try {
  console.log(JSON.stringify({ event: new Webhook(secret).verify(body, headers) }));
} catch (error) {
  if (!(error instanceof WebhookVerificationError)) throw error;
  console.log(JSON.stringify({ refused: error.message }));
}
