// Logging in with Debian's glewlwyd, an identity provider that nobody here wrote, in a browser.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { anotherBrowser, closeBrowser, freePort, until, world } from "./world.mjs";

after(closeBrowser);

/** Glewlwyd does not decode what RFC 6749 (2.3.1) encodes, so the secret has nothing to encode. */
const SECRET = "a-secret-of-the-client";
const PASSWORD = "a password at the provider";
const SESSION = "GLEWLWYD2_OIDC_SID";
const SCOPES = ["openid", "email", "profile"];

function folder(test, name) {
  const directory = mkdtempSync(join(tmpdir(), `parlance-${name}-`));
  test.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Glewlwyd with one client, and with dana, whose address is verified, and max, whose address is not. */
async function provider(test, console_) {
  const directory = folder(test, "glewlwyd");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const issuer = `${url}/api/oidc`;

  const database = join(directory, "glewlwyd.db");
  const schema = gunzipSync(readFileSync("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz"));
  execFileSync("sqlite3", [database], { input: schema });
  const pages = join(directory, "webapp");
  // Debian's config.json is a link to a directory, from which the pages cannot read it.
  cpSync("/usr/share/glewlwyd/webapp", pages, { recursive: true, dereference: true, filter: from => !from.endsWith("config.json") });
  cpSync("/usr/share/glewlwyd/templates/config.json", join(pages, "config.json"));
  const configuration = join(directory, "glewlwyd.conf");
  const types = { html: "text/html", css: "text/css", js: "application/javascript", json: "application/json" };
  writeFileSync(configuration, `port = ${port}
bind_address = "127.0.0.1"
external_url = "${url}"
static_files_path = "${pages}"
static_files_mime_types = (${Object.entries(types).map(([end, type]) => `{ extension = ".${end}", mime_type = "${type}" }`)})
log_mode = "console"
log_level = "WARNING"
cookie_domain = "127.0.0.1"
user_module_path = "/usr/lib/glewlwyd/user"
client_module_path = "/usr/lib/glewlwyd/client"
user_auth_scheme_module_path = "/usr/lib/glewlwyd/scheme"
plugin_module_path = "/usr/lib/glewlwyd/plugin"
database = { type = "sqlite3", path = "${database}" }
`);

  const said = { output: "" };
  const child = spawn("glewlwyd", [`--config-file=${configuration}`], { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", chunk => { said.output += chunk; });
  const ended = new Promise(resolve => { child.on("exit", resolve); child.on("error", resolve); });
  test.after(() => { child.kill("SIGKILL"); return ended; });
  await until("glewlwyd answers", () => fetch(`${url}/config`).then(answer => answer.ok, () => false))
    .catch(cause => { throw new Error(`${cause.message}\n${said.output}`); });

  let cookie = "";
  const call = async (method, path, body) => {
    const answer = await fetch(`${url}/api${path}`, { method, headers: { "content-type": "application/json", cookie }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    cookie ||= answer.headers.get("set-cookie")?.split(";")[0];
    return text && JSON.parse(text);
  };
  await call("POST", "/auth/", { username: "admin", password: "password" });
  const users = await call("GET", "/mod/user/database");
  users.parameters["data-format"].verified = { multiple: false, read: true, write: true };
  await call("PUT", "/mod/user/database", users);
  await call("PUT", "/mod/user/database/reset");
  for (const name of ["email", "profile"]) await call("POST", "/scope/", { name, display_name: name, password_required: true });
  await call("POST", "/client/", {
    client_id: "parlance",
    name: "Parlance",
    confidential: true,
    client_secret: SECRET,
    token_endpoint_auth_method: ["client_secret_basic"],
    redirect_uri: [`${console_}/console/oidc/sso/callback`],
    authorization_type: ["code"],
    enabled: true,
    backchannel_logout_uri: `${console_}/console/oidc/sso/back-channel-logout`,
    backchannel_logout_session_required: "yes",
    scope: [],
  });
  for (const [username, name, verified] of [["dana", "Dana Doe", "yes"], ["max", "Max Moe", "no"]]) {
    await call("POST", "/user/", { username, name, password: PASSWORD, email: `${username}@example.org`, verified, scope: SCOPES, enabled: true });
  }
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
  await call("POST", "/mod/plugin/", {
    module: "oidc",
    name: "oidc",
    display_name: "OpenID Connect",
    enabled: true,
    parameters: {
      iss: issuer,
      "jwks-private": JSON.stringify({ keys: [{ ...key, kid: "one", alg: "ES256" }] }),
      "jwks-show": true,
      // Without durations, tokens have expired when they are issued.
      "access-token-duration": 600,
      "refresh-token-duration": 600,
      "code-duration": 600,
      "auth-type-code-enabled": true,
      "allowed-scope": SCOPES,
      "name-claim": "on-demand",
      "name-claim-scope": ["profile"],
      "email-claim": "on-demand",
      "email-claim-scope": ["email"],
      claims: [{ name: "email_verified", "user-property": "verified", type: "boolean", "boolean-value-true": "yes", "boolean-value-false": "no", scope: ["email"] }],
      "session-management-allowed": true,
      "session-cookie-name": SESSION,
      "session-cookie-expiration": 3600,
      "back-channel-logout-allowed": true,
      "pkce-allowed": true,
      "pkce-required": true,
    },
  });
  return { url, issuer, said };
}

async function scene(test) {
  const port = await freePort();
  const console_ = `http://127.0.0.1:${port}`;
  const { url, issuer, said } = await provider(test, console_);
  const file = join(folder(test, "oidc"), "parlance.toml");
  writeFileSync(file, `public_url = "${console_}"
[oidc.sso]
issuer = "${issuer}"
client_id = "parlance"
client_secret = "${SECRET}"
label = "Company"
create_accounts = true
`);
  const all = await world(test, { port, environment: { PARLANCE_CONFIG: file } });
  return { ...all, url, issuer, said };
}

/** Goes from the console to the provider, and logs in at its page. */
async function logInAtProvider(page, { base, url }, name) {
  await page.goto(`${base}/settings`);
  await page.getByRole("button", { name: "Log in with Company" }).click();
  await page.waitForURL(at => at.href.startsWith(url));
  await page.getByLabel("Login").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "OK" }).click();
}

async function grant(page, ...scopes) {
  for (const scope of scopes) await page.getByLabel(scope, { exact: true }).check();
  const button = page.getByRole("button", { name: "Grant access" });
  await button.click();
  await button.waitFor({ state: "detached" });
}

/** Goes back to the console, and waits for what it shows. */
async function goBack(page, { server, said }, text) {
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText(text).waitFor().catch(cause => { throw new Error(`${page.url()}\n${server.output}\n${said.output}\n${cause}`); });
}

const users = server => JSON.parse(server.command("user", "list", "--json")).users.map(({ id, email, first_name, last_name }) => ({ id, email, name: `${first_name} ${last_name}`.trim() }));

test("glewlwyd_logs_the_same_user_in_again_and_out", async test => {
  const here = await scene(test);
  const { page, base, server, issuer } = here;
  await logInAtProvider(page, here, "dana");
  await grant(page, "email", "profile");
  await goBack(page, here, "dana@example.org");
  assert.equal(page.url(), `${base}/settings`);
  const [, dana, ...others] = users(server);
  assert.deepEqual([dana.email, dana.name, others], ["dana@example.org", "Dana Doe", []]);

  // Elsewhere, where glewlwyd asks for the password, but not for the consent.
  const { page: second } = await anotherBrowser(test, here);
  await logInAtProvider(second, here, "dana");
  await goBack(second, here, "dana@example.org");
  assert.deepEqual(users(server).slice(1), [dana]);

  const session = (await page.context().cookies()).find(one => one.name === SESSION).value;
  assert.ok((await page.request.delete(`${issuer}/session/${session}/`)).ok());
  await page.getByText("Your session has ended").waitFor();
  await second.reload();
  await second.getByText("dana@example.org").waitFor();
});

test("glewlwyd_must_have_verified_and_told_the_address", async test => {
  const here = await scene(test);
  const reason = "An account needs an email address that the identity provider has verified.";
  await logInAtProvider(here.page, here, "max");
  await grant(here.page, "email", "profile");
  await goBack(here.page, here, reason);

  const { page: second } = await anotherBrowser(test, here);
  await logInAtProvider(second, here, "dana");
  await grant(second, "profile");
  await goBack(second, here, reason);
  assert.equal(users(here.server).length, 1);
});
