// A proxy in front of Parlance servers. With --assets, it serves the console from that directory instead of the one in
// the server, so that a change shows without building the server. The tests lose answers and cut sockets with it.
//
//   node serve.mjs [--to http://127.0.0.1:4000] [--port 4010] [--assets DIRECTORY]
import { readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Starts it. `assets` is a directory, or chooses one for a path. Resolves to `{ url, close, cut, faults }`. Tests lose answers: `faults.answer(request)` returns "cut" or "gateway". */
export function serve({ to, port = 0, assets }) {
  // One server, or several in turn.
  const targets = [to].flat().map(one => new URL(one));
  let turn = 0;
  const next = () => targets[turn++ % targets.length];
  const sockets = new Set();
  const faults = { answer: () => null };

  const refuse = (response, status, code, message) => {
    response.writeHead(status, { "cache-control": "no-store", "content-type": "application/json" });
    response.end(JSON.stringify({ error: { code, message, request_id: "" } }));
  };

  const directory = typeof assets === "function" ? assets : () => assets;
  /** The script that the page of the directory loads later. */
  const later = () => readFileSync(join(directory("/console/"), "index.html"), "utf8").match(/"([^"]+)app\.js"/)[1] + "later.js";

  /** The body from the directory, with the headers of the server, whose copy may be older. */
  function replaced(path, answer, response) {
    const name = /^\/console\/(?:assets\/[^/]+\/|(?=sw\.js$))([\w.-]+)$/.exec(path)?.[1] ?? "index.html";
    const { etag: _, "content-length": __, "transfer-encoding": ___, ...headers } = answer.headers;
    answer.resume();
    response.writeHead(answer.statusCode, { ...headers, "cache-control": "no-store" });
    response.end(readFileSync(join(directory(path), name)));
  }

  const server = http.createServer((request, response) => {
    const path = new URL(request.url, "http://x").pathname;
    const isFile = assets && request.method === "GET" && path.startsWith("/console/") && path !== "/console/oidc";
    const headers = isFile ? { ...request.headers, "accept-encoding": "identity", "if-none-match": "" } : request.headers;
    const target = next();
    // The server serves this file only to pages of its own build, and the directory may hold another build.
    const url = isFile && path === later() ? path.replace(/later(?=\.js$)/, "app") : request.url;
    const forward = http.request({ hostname: target.hostname, port: target.port, method: request.method, path: url, headers }, answer => {
      const fault = faults.answer(request);
      if (fault) answer.resume();
      if (fault === "cut") return void request.socket.destroy();
      if (fault === "gateway") return void refuse(response, 502, "bad_gateway", "Bad gateway");
      if (isFile && answer.statusCode === 200) return replaced(path, answer, response);
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forward.on("error", () => { if (response.headersSent) response.destroy(); else refuse(response, 502, "service_unavailable", "The server cannot be reached."); });
    request.pipe(forward);
  });
  server.on("upgrade", (request, socket, head) => {
    const target = next();
    const up = net.connect(Number(target.port), target.hostname, () => {
      const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
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
  const assets = option("assets", join(here, "../crates/http-console/assets"));
  const { url } = await serve({ to: option("to", "http://127.0.0.1:4000"), port: Number(option("port", "4010")), assets });
  console.log(`The console is at ${url}/console/`);
}
