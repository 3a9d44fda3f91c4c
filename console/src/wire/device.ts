// Devices that hold passkeys, as the browser reaches them.

import { ApiError } from "../pure/errors.ts";
import { w } from "../words.ts";

/** Whether this browser can parse the options of the server. Older ones have passkeys, but cannot. */
export const knowsPasskeys = typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential;

/** What a device answers, or why it did not, in words. */
async function asked(answer: Promise<Credential | null>): Promise<unknown> {
  try {
    return ((await answer) as PublicKeyCredential).toJSON();
  } catch (cause) {
    // The browser does not tell whether somebody has closed its dialog, or has waited too long.
    throw new ApiError(400, "device", (cause as Error).name === "InvalidStateError" ? w.login.deviceKnown : w.login.deviceFailed);
  }
}

/** Makes a passkey. */
export const create = (options: unknown): Promise<unknown> =>
  asked(navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON) }));

/** Answers with one of the passkeys of this server. */
export const answer = (options: unknown): Promise<unknown> =>
  asked(navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON) }));
