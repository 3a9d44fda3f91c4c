// A form whose request may ask for the caller's password, because the log-in is too long ago.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { faultOf } from "../pure/errors.ts";
import { w } from "../words.ts";
import { useForm } from "./Dialog.tsx";
import { Field } from "./Field.tsx";

const FIELD = "current_password";

/** Like `useForm`. `password` is the field, once the server has asked for it. */
export function useConfirmedForm(work: (data: FormData, password: string) => Promise<void>): ReturnType<typeof useForm> & { password: ComponentChildren } {
  const [isAsked, setAsked] = useState(false);
  const form = useForm(async data => {
    try { await work(data, String(data.get(FIELD) ?? "")); } catch (cause) {
      if (faultOf(cause, FIELD)) setAsked(true);
      throw cause;
    }
  });
  const password = isAsked && (
    <Field label={w.registering.password} hint={w.registering.passwordHint} name={FIELD} type="password" autocomplete="current-password" required fault={faultOf(form.fault, FIELD)} />
  );
  return { ...form, password };
}
