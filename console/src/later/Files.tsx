// Files: those that the next text takes along, and those of a text.

import { ApiError, complain, Dialog, Icon, refocus, useEffect, useRef, useState, visible, w } from "../shared.ts";
import { isShown, sizeOf } from "../pure/files.ts";
import type { Id } from "../pure/message.ts";
import type { Chosen, Outbox } from "../store/outbox.ts";
import type { AttachmentView } from "../wire/api.ts";
import { download, picture, remove, retry, Said, saying } from "./files.ts";
import { files as words } from "./words.ts";

const percent = (share: number): string => `${Math.floor(share * 100)} %`;

export function Tray({ outbox }: { outbox: Outbox }) {
  const all = outbox.files.value;
  const count = (state: Chosen["state"]): number => all.filter(one => one.state === state).length;
  const focus = (): void => refocus(document.getElementById("composer"));
  return (
    <>
      <ul class="tray" aria-label={words.chosen}>
        {all.map(one => {
          const name = visible(one.stored?.name ?? one.file.name);
          return (
            <li key={one.key} class={`file ${one.state}`}>
              <Icon name={one.state === "failed" ? "triangle-alert" : "paperclip"} size={16} />
              <div>
                <bdi class="name">{name}</bdi> <span class="hint">{sizeOf(one.file.size)} · {one.state === "uploading" ? percent(one.share) : words.states[one.state]}</span>
                {one.state === "uploading" && <progress max={1} value={one.share} aria-label={words.progress(name)} />}
                {one.state === "failed" && <p class="fault">{one.fault} <button type="button" class="link" aria-label={w.of(w.again, name)} onClick={() => { retry(outbox, one); focus(); }}>{w.again}</button></p>}
              </div>
              <button type="button" class="quiet square" aria-label={one.state === "uploading" ? words.cancel(name) : words.remove(name)} onClick={() => { remove(outbox, one); focus(); }}><Icon name="x" size={16} /></button>
            </li>
          );
        })}
      </ul>
      <p class="vh" role="status">{words.summary(count("uploading"), count("ready"), count("failed"))}</p>
    </>
  );
}

export function Attachments({ room, files }: { room: Id; files: AttachmentView[] }) {
  if (files.length === 0) return null;
  return (
    <ul class="files" aria-label={words.label}>
      {files.map(file => (
        <li key={file.id}>
          {isShown(file) && <Preview room={room} file={file} />}
          <Row room={room} file={file} />
        </li>
      ))}
    </ul>
  );
}

function Row({ room, file }: { room: Id; file: AttachmentView }) {
  const name = visible(file.name);
  return (
    <div class="file">
      <Icon name="paperclip" size={16} />
      <div><bdi class="name">{name}</bdi> <span class="hint">{sizeOf(file.bytes)}</span></div>
      <Download room={room} file={file} />
    </div>
  );
}

function Download({ room, file }: { room: Id; file: AttachmentView }) {
  const [share, setShare] = useState<number | null>(null);
  const [fault, setFault] = useState("");
  const stop = useRef<AbortController | null>(null);
  // It goes on if the room is left, like other downloads of a browser.
  const isGone = useRef(false);
  useEffect(() => () => { isGone.current = true; }, []);
  const name = visible(file.name);
  const press = async (): Promise<void> => {
    if (stop.current) return stop.current.abort();
    const mine = stop.current = new AbortController();
    setFault("");
    setShare(0);
    try {
      await download(room, file, mine, setShare);
    } catch (cause) {
      if (!mine.signal.aborted) (isGone.current ? complain : setFault)(saying(cause));
    } finally {
      stop.current = null;
      setShare(null);
    }
  };
  return (
    <>
      {share !== null && <span class="hint" role="progressbar" aria-label={words.downloading(name)} aria-valuenow={Math.floor(share * 100)}>{percent(share)}</span>}
      <button type="button" class="quiet square" title={share === null ? words.download : w.cancel} aria-label={share === null ? w.of(words.download, name) : words.cancelDownload(name)} onClick={() => void press()}>
        <Icon name={share === null ? "download" : "x"} size={16} />
      </button>
      {fault && <p class="fault" role="alert">{fault}</p>}
    </>
  );
}

/** The picture is fetched when it is about to be seen, and let go when it is far from that. */
function Preview({ room, file }: { room: Id; file: AttachmentView }) {
  const box = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const [url, setUrl] = useState("");
  const [fault, setFault] = useState<unknown>(null);
  const name = visible(file.name);
  useEffect(() => {
    const watcher = new IntersectionObserver(seen => setNear(seen.at(-1)!.isIntersecting), { root: box.current!.closest(".feed"), rootMargin: "150% 0px" });
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  const isWanted = (isNear || isOpen) && !fault;
  useEffect(() => {
    if (!isWanted) return;
    const stop = new AbortController();
    let made = "";
    picture(room, file, stop.signal).then(blob => {
      if (!stop.signal.aborted) setUrl(made = URL.createObjectURL(blob));
    }).catch((cause: unknown) => { if (!stop.signal.aborted) setFault(cause); });
    return () => {
      stop.abort();
      URL.revokeObjectURL(made);
      setUrl("");
    };
  }, [isWanted, room, file.id]);
  const image = (alt: string) => <img src={url} alt={alt} draggable={false} onError={() => setFault(new Said(words.noPreview))} />;
  return (
    <div class="thumb" ref={box}>
      {fault ? <p class="hint">{saying(fault)} {fault instanceof ApiError && <button type="button" class="link" aria-label={w.of(w.again, name)} onClick={() => setFault(null)}>{w.again}</button>}</p>
        : url ? <button type="button" aria-label={words.open(name)} onClick={() => setOpen(true)}>{image("")}</button>
        : isNear && <p class="hint">{w.loading}</p>}
      {isOpen && (
        <Dialog title={name} wide onClose={() => setOpen(false)}>
          <div class="picture">{url ? image(name) : <p class="hint" role="status">{fault ? saying(fault) : w.loading}</p>}<Row room={room} file={file} /></div>
        </Dialog>
      )}
    </div>
  );
}
