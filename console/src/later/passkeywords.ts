// The texts of passkeys.

export const passkeys = {
  intro: "With a passkey, you log in with the fingerprint, face, or PIN of a device instead of your password and a code.",
  off: "This server has no passkeys. The operator must set a public address with https.",
  none: "You have no passkeys.",
  old: "This browser cannot add passkeys. Use a newer one.",
  add: "Add passkey",
  addText: "Your browser will ask you to confirm on the device.",
  name: "Name",
  nameHint: "Helps you recognize the device later.",
  added: "The passkey was added.",
  synced: "Synced",
  rename: "Rename",
  remove: "Remove",
  removeText: "You will no longer be able to log in with it, and its sessions will end. Remove it from the device as well.",
  removed: "The passkey was removed.",
};
