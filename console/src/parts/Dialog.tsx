// Modal dialogs, on the browser's own element: it keeps the focus inside, and gives it back.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { explain, faultOf } from "../pure/errors.ts";
import { complain, inform } from "../store/notices.ts";
import { w } from "../words.ts";
import { Field } from "./Field.tsx";
import { Icon } from "./Icon.tsx";

export function Dialog({ title, onClose, children, wide = false }: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const leave = useRef(onClose);
  leave.current = onClose;
  useLayoutEffect(() => {
    const dialog = box.current!;
    const asked = (event: Event): void => {
      if (event.target !== dialog) return;
      event.preventDefault();
      leave.current();
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      event.stopPropagation();
      leave.current();
    };
    // Phones ask to close without a key. Preact does not know this event in every browser.
    dialog.addEventListener("cancel", asked);
    dialog.addEventListener("keydown", key);
    const before = document.activeElement as HTMLElement | null;
    dialog.showModal();
    (dialog.querySelector<HTMLElement>("[data-focus]") ?? dialog.querySelector<HTMLElement>("h2"))?.focus();
    return () => {
      dialog.close();
      if (before?.isConnected) before.focus();
      // What opened the dialog may have gone with it.
      refocus();
    };
  }, []);
  return (
    <dialog ref={box} class={wide ? "dialog wide" : "dialog"} aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1}>{title}</h2>
        <button type="button" class="quiet square" aria-label={w.close} onClick={onClose}><Icon name="x" /></button>
      </header>
      {children}
    </dialog>
  );
}

/** Moves the focus to the heading, or to `target`, if what had it is gone. */
export function refocus(target?: HTMLElement | null): void {
  setTimeout(() => {
    if (document.activeElement === document.body) (target ?? document.querySelector<HTMLElement>("main h1"))?.focus({ preventScroll: true });
  });
}

const PASSWORD = "current_password";
/** What was typed into the field that appears if the server asks for the password, because the log-in is too long ago. */
export const passwordIn = (data: FormData): string => String(data.get(PASSWORD) ?? "");

/**
 * A question with one way on and one way back. The faults of fields stand at them, others above the buttons. It closes
 * after `onSubmit`, unless that answers false. It asks for the password from the start if `asksPassword`, or when the
 * server wants it.
 */
export function Confirm({ title, text, submit, danger = false, wide = false, isReady = true, asksPassword = false, onSubmit, onClose, children }: {
  title: string; text?: string; submit: string; danger?: boolean; wide?: boolean; isReady?: boolean; asksPassword?: boolean;
  onSubmit: (data: FormData) => unknown; onClose: () => void; children?: ComponentChildren | ((fault: (field: string) => string) => ComponentChildren);
}) {
  const form = useForm(async data => { if (await onSubmit(data) !== false) onClose(); });
  const isAsked = useRef(asksPassword);
  isAsked.current ||= faultOf(form.fault, PASSWORD) !== "";
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <form onSubmit={form.submit}>
        {text && <p>{text}</p>}
        {typeof children === "function" ? children(form.at) : children}
        {isAsked.current && <Field label={w.registering.password} {...(asksPassword ? { "data-focus": true } : { hint: w.registering.passwordHint })} name={PASSWORD} type="password" autocomplete="current-password" required fault={form.at(PASSWORD)} />}
        <Fault text={form.rest()} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>{w.cancel}</button>
          <button class={danger ? "danger" : ""} disabled={form.isBusy || !isReady} data-focus={children ? undefined : true}>{submit}</button>
        </footer>
      </form>
    </Dialog>
  );
}

interface Asked { deed: string; name?: string; title?: string; text: string; danger?: boolean; run: (password: string) => Promise<unknown>; done?: string }

/** The dialog that asks before something is done, perhaps to what has a name, and how to open it. `done` is said afterwards. */
export function useConfirm(): [ComponentChildren, (asked: Asked) => void] {
  const [asked, ask] = useState<Asked | null>(null);
  return [asked && (
    <Confirm title={asked.title ?? `${asked.name ? w.of(asked.deed, asked.name) : asked.deed}?`} text={asked.text} submit={asked.deed} danger={asked.danger !== false} onClose={() => ask(null)}
      onSubmit={async data => { await asked.run(passwordIn(data)); if (asked.done) inform(asked.done); }} />
  ), ask];
}

export function Fault({ text, id }: { text: string; id?: string }) {
  return <p class="fault" id={id} role="alert">{text}</p>;
}

/** Runs `work` when a form is sent, once at a time, and keeps its failure. Once the form is gone, a notice tells it. */
export function useForm(work: (data: FormData) => Promise<void>) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(null);
  const isGone = useRef(false);
  useEffect(() => () => { isGone.current = true; }, []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isBusy) return;
    const data = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setFault(null);
    work(data).catch(cause => (isGone.current ? complain : setFault)(cause)).finally(() => setBusy(false));
  };
  let isPlaced = false;
  return {
    submit, isBusy, fault,
    /** What is wrong with a field, to be shown at it. */
    at: (field: string): string => {
      const text = faultOf(fault, field);
      isPlaced ||= text !== "";
      return text;
    },
    /** What is wrong, unless it was shown at a field before. */
    rest: (): string => (fault && !isPlaced ? explain(fault) : ""),
  };
}

/** What somebody typed. */
export const typed = (data: FormData, name: string): string => String(data.get(name) ?? "").trim();
/** A number, or null for an empty field. */
export const typedNumber = (data: FormData, name: string): number | null => (typed(data, name) ? Number(typed(data, name)) : null);
