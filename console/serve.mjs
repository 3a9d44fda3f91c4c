// Development server: serves the built console, passes everything else (sockets too) on to a Parlance server, and stands
// in for the browser session until the server has it. It keeps passwords, keys, and refresh tokens in memory only.
//
//   node serve.mjs [--to http://127.0.0.1:4000] [--port 4010] [--assets DIRECTORY]
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

export const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), clipboard-read=()",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml", txt: "text/plain; charset=utf-8" };
const COOKIE = "parlance_session";
const MONTH_SECONDS = 30 * 86_400;
/** Stands for the access token of a session that was begun with a key: the server takes the key itself. */
const KEY_TOKEN_SECONDS = 900;

const here = dirname(fileURLToPath(import.meta.url));

/** Starts it; resolves to `{ url, close, faults }`. Tests lose answers: `faults.answer(request)` returns "cut" or "gateway". */
export function serve({ to, port = 0, assets = join(here, "../crates/http-console/assets") }) {
  // One server, or several in turn.
  const targets = [to].flat().map(one => new URL(one));
  let turn = 0;
  const next = () => targets[turn++ % targets.length];
  const sessions = new Map();
  const keyTokens = new Map();
  const sockets = new Set();
  const faults = { answer: () => null };

  const upstream = async (method, path, body, headers = {}) => {
    const answer = await fetch(new URL(path, next()), { method, headers: { "content-type": "application/json", ...headers }, ...(body ? { body: JSON.stringify(body) } : {}) });
    const text = await answer.text();
    return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body: text ? JSON.parse(text) : undefined };
  };
  const send = (response, status, body, headers = {}) => {
    response.writeHead(status, { ...HEADERS, "cache-control": "no-store", ...(body ? { "content-type": "application/json" } : {}), ...headers });
    response.end(body ? JSON.stringify(body) : undefined);
  };
  const refuse = (response, status, code, message) => send(response, status, { error: { code, message, request_id: "" } });
  const unauthorized = response => refuse(response, 401, "unauthorized", "Log in again.");
  const cookieOf = request => new RegExp(`(?:^|; )${COOKIE}=([^;]+)`).exec(request.headers.cookie ?? "")?.[1];

  /** The answer of the door for a session, after asking the server. */
  async function token(session) {
    if (session.key) {
      const profile = await upstream("GET", "/api/v1/me/profile", null, { "x-api-key": session.key });
      if (profile.status !== 200) return profile;
      const access = `key-${randomBytes(16).toString("hex")}`;
      keyTokens.set(access, session.key);
      return { status: 200, body: { access_token: access, expires_in: KEY_TOKEN_SECONDS, user: profile.body.data } };
    }
    // Two tabs at once use the refresh token once.
    session.renewal ??= upstream("POST", "/api/v1/auth/refresh", { refresh_token: session.refresh }).finally(() => { session.renewal = null; });
    const answer = await session.renewal;
    if (answer.status !== 200) return answer;
    session.refresh = answer.body.data.refresh_token;
    const { access_token, expires_in, user } = answer.body.data;
    return { status: 200, body: { access_token, expires_in, user } };
  }

  async function begin(body) {
    if (typeof body.api_key === "string") {
      const session = { key: body.api_key };
      return { session, answer: await token(session) };
    }
    const path = body.reset_token !== undefined ? "reset" : body.handle !== undefined ? "register" : "login";
    const answer = await upstream("POST", `/api/v1/auth/${path}`, body);
    if (answer.status >= 300) return { answer };
    const { access_token, expires_in, user, refresh_token } = answer.body.data;
    return { session: { refresh: refresh_token }, answer: { status: 200, body: { access_token, expires_in, user } } };
  }

  async function door(request, response, path) {
    const site = request.headers["sec-fetch-site"];
    const isOwn = site ? site === "same-origin" : !request.headers.origin || new URL(request.headers.origin).host === request.headers.host;
    if (!isOwn) return refuse(response, 403, "forbidden", "Requests from other sites are refused.");
    const known = sessions.get(cookieOf(request));
    if (request.method === "POST" && path === "/console/session") {
      let text = "";
      for await (const chunk of request) text += chunk;
      const { session, answer } = await begin(JSON.parse(text));
      if (!session || answer.status !== 200) return send(response, answer.status, answer.body, answer.retryAfter ? { "retry-after": answer.retryAfter } : {});
      const secret = randomBytes(32).toString("base64url");
      sessions.set(secret, session);
      return send(response, 200, answer.body, { "set-cookie": `${COOKIE}=${secret}; Path=/console/session; HttpOnly; SameSite=Strict; Max-Age=${MONTH_SECONDS}` });
    }
    if (request.method === "POST" && path === "/console/session/token") {
      if (!known) return unauthorized(response);
      const answer = await token(known);
      return answer.status === 200 ? send(response, 200, answer.body) : answer.status === 401 ? unauthorized(response) : send(response, answer.status, answer.body);
    }
    if (request.method === "DELETE" && path === "/console/session") {
      if (known?.refresh) await upstream("POST", "/api/v1/auth/logout", { refresh_token: known.refresh });
      sessions.delete(cookieOf(request));
      return send(response, 204, undefined, { "set-cookie": `${COOKIE}=; Path=/console/session; HttpOnly; SameSite=Strict; Max-Age=0`, "clear-site-data": '"storage"' });
    }
    return refuse(response, 405, "method_not_allowed", "Method not allowed.");
  }

  function file(response, path) {
    const asset = /^\/console\/assets\/[0-9a-f]+\/([\w.-]+)$/.exec(path)?.[1];
    const name = asset ?? "index.html";
    try {
      const body = gzipSync(readFileSync(join(assets, name)), { level: 9 });
      response.writeHead(200, { ...HEADERS, "content-type": TYPES[name.split(".").at(-1)], "content-encoding": "gzip", "cache-control": asset ? "public, max-age=31536000, immutable" : "no-cache" });
      response.end(body);
    } catch {
      refuse(response, 404, "not_found", "No such file.");
    }
  }

  /** The headers for the server: an access token that stands for a key is replaced by it. */
  function translated(headers) {
    const { cookie: _, ...rest } = headers;
    const key = keyTokens.get(/^Bearer (.*)$/.exec(rest.authorization ?? "")?.[1] ?? "");
    if (key) { delete rest.authorization; rest["x-api-key"] = key; }
    const protocol = rest["sec-websocket-protocol"];
    const coded = /base64url\.bearer\.phx\.([\w+/-]+)/.exec(protocol ?? "")?.[1];
    const socketKey = coded && keyTokens.get(Buffer.from(coded, "base64").toString());
    if (socketKey) rest["x-api-key"] = socketKey;
    return rest;
  }

  const server = http.createServer((request, response) => {
    const path = new URL(request.url, "http://x").pathname;
    if (path === "/console") return response.writeHead(308, { location: "/console/" }).end();
    if (path.startsWith("/console/session")) {
      return void door(request, response, path).catch(() => refuse(response, 502, "service_unavailable", "The server cannot be reached."));
    }
    if (path.startsWith("/console/")) return file(response, path);
    const target = next();
    const forward = http.request({ hostname: target.hostname, port: target.port, method: request.method, path: request.url, headers: translated(request.headers) }, answer => {
      const fault = faults.answer(request);
      if (fault) answer.resume();
      if (fault === "cut") return void request.socket.destroy();
      if (fault === "gateway") return void refuse(response, 502, "bad_gateway", "Bad gateway");
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forward.on("error", () => { if (response.headersSent) response.destroy(); else refuse(response, 502, "service_unavailable", "The server cannot be reached."); });
    request.pipe(forward);
  });
  server.on("upgrade", (request, socket, head) => {
    const target = next();
    const up = net.connect(Number(target.port), target.hostname, () => {
      const headers = Object.entries(translated(request.headers)).map(([name, value]) => `${name}: ${value}`);
      up.write(`${request.method} ${request.url} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
      up.write(head);
      up.pipe(socket);
      socket.pipe(up);
    });
    sockets.add(socket);
    up.on("error", () => socket.destroy());
    up.on("close", () => socket.destroy());
    socket.on("error", () => up.destroy());
    socket.on("close", () => { sockets.delete(socket); up.destroy(); });
  });
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(port, "127.0.0.1", () => resolve({
      url: `http://127.0.0.1:${server.address().port}`,
      faults,
      /** Breaks all sockets, as a network does. */
      cut: () => { for (const socket of sockets) socket.destroy(); },
      close: () => { for (const socket of sockets) socket.destroy(); server.close(); server.closeAllConnections(); },
    }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) => { const at = process.argv.indexOf(`--${name}`); return at > 0 ? process.argv[at + 1] : otherwise; };
  const { url } = await serve({ to: option("to", "http://127.0.0.1:4000"), port: Number(option("port", "4010")), assets: option("assets", undefined) });
  console.log(`The console is at ${url}/console/`);
}
