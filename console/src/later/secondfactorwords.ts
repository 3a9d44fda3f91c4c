// The texts of the second factor.

import { many } from "../shared.ts";

export const secondFactor = {
  intro: "With a second factor, a log-in with your password also needs a code from an authenticator app on your phone.",
  off: "Your second factor is off.",
  on: (time: string) => `On since ${time}.`,
  left: (count: number) => `${many(count, "recovery code")} left.`,
  setUp: "Set up second factor",
  next: "Continue",
  scan: "Scan this code with your authenticator app, or type the key into it. Then enter the code that the app shows.",
  qr: "QR code for an authenticator app",
  key: "Key for the app",
  turnOn: "Turn on",
  codes: "Your recovery codes",
  codesText: "Each code works once, in place of one from the app. Keep them where you can reach them without your phone.",
  what: "recovery codes",
  once: "These codes are shown only now. Keep them like a password.",
  renew: "New recovery codes",
  renewText: "Your current recovery codes will stop working.",
  remove: "Turn off second factor",
  removeText: "You will then log in with your password alone. Your recovery codes will stop working.",
  removed: "The second factor was turned off.",
};
