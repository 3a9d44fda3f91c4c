// A field for a code of the second factor.

import { useEffect, useState } from "preact/hooks";
import { w } from "../words.ts";
import { Field } from "./Field.tsx";

/** Takes a code from the authenticator app or, unless `isOfApp`, a recovery code, which needs a keyboard with letters. */
export function Code({ isOfApp = false, fault = "" }: { isOfApp?: boolean; fault?: string }) {
  const [isRecovery, setRecovery] = useState(false);
  useEffect(() => { document.getElementsByName("code")[0]?.focus(); }, [isRecovery]);
  return (
    <>
      <Field label={isRecovery ? w.login.recovery : w.login.code} hint={isRecovery ? w.login.recoveryHint : w.login.codeHint} name="code" autocomplete="one-time-code"
        inputMode={isRecovery ? "text" : "numeric"} required maxLength={64} autocapitalize="none" spellcheck={false} data-focus fault={fault} />
      {!isOfApp && <button type="button" class="link" onClick={() => setRecovery(!isRecovery)}>{isRecovery ? w.login.byCode : w.login.byRecovery}</button>}
    </>
  );
}
