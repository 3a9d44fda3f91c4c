// Logging in with an identity provider that nobody here wrote, in a browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import Provider from "oidc-provider";
import { closeBrowser, freePort, until, violations, world } from "./world.mjs";

after(closeBrowser);

const SECRET = "a secret of the client";

/** A provider with one client, whose accounts are whoever logs in. */
async function provider(test, port, console_) {
  const issuer = `http://127.0.0.1:${port}`;
  const sso = new Provider(issuer, {
    clients: [{
      client_id: "parlance",
      client_secret: SECRET,
      grant_types: ["authorization_code"],
      response_types: ["code"],
      redirect_uris: [`${console_}/console/oidc/sso/callback`],
      backchannel_logout_uri: `${console_}/console/oidc/sso/back-channel-logout`,
      backchannel_logout_session_required: true,
    }],
    claims: { email: ["email", "email_verified"], groups: ["groups"], openid: ["sub"], profile: ["name"] },
    cookies: { keys: ["a key for cookies"] },
    // Without its guard against private addresses, where the server of this test is.
    fetch: (url, { dispatcher: _, ...options }) => fetch(url, options),
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, name: "Dana Doe", groups: ["staff"] }),
    }),
    pkce: { required: () => true },
    scopes: ["openid", "email", "profile", "groups"],
  });
  const failures = [];
  for (const event of ["server_error", "authorization.error", "grant.error", "backchannel.error"]) {
    sso.on(event, (_, error) => failures.push(`${event}: ${error?.error_description ?? error}`));
  }
  const serving = http.createServer(sso.callback());
  await new Promise(resolve => serving.listen(port, "127.0.0.1", resolve));
  test.after(() => { serving.closeAllConnections(); serving.close(); });
  return { issuer, failures };
}

async function scene(test, more = "") {
  const [port, sso] = [await freePort(), await freePort()];
  const console_ = `http://127.0.0.1:${port}`;
  const { issuer, failures } = await provider(test, sso, console_);
  const directory = mkdtempSync(join(tmpdir(), "parlance-oidc-"));
  test.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "parlance.toml");
  writeFileSync(file, `public_url = "${console_}"
${more}
[oidc.sso]
issuer = "${issuer}"
client_id = "parlance"
client_secret = "${SECRET}"
label = "Company"
scopes = ["email", "profile", "groups"]
create_accounts = true
[oidc.sso.claims.staff]
claim = "groups"
value = "staff"
organization = "admin"
`);
  const { page, base, server } = await world(test, { port, environment: { PARLANCE_CONFIG: file } });
  return { page, base, server, issuer, failures };
}

/** Logs in at the provider's own page, and allows it. */
async function atProvider(page, name) {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("anything");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("somebody logs in with a button, is back where they were, and is logged out by the provider", async test => {
  const { page, base, issuer, failures } = await scene(test);
  await page.goto(`${base}/settings`);
  const button = page.getByRole("button", { name: "Log in with Company" });
  await button.waitFor();
  await page.getByLabel("Password").waitFor();
  assert.deepEqual(await violations(page), []);
  await button.click();
  await page.waitForURL(url => url.href.startsWith(issuer));
  await atProvider(page, "dana");
  await page.getByRole("heading", { name: "Settings" }).waitFor().catch(cause => { throw new Error(`${failures}\n${page.url()}\n${cause}`); });
  assert.equal(page.url(), `${base}/settings`);
  await page.getByText("dana@example.org").waitFor();
  // The session lasts over a reload, without the provider.
  await page.reload();
  await page.getByText("dana@example.org").waitFor();

  // At the provider, in another tab.
  const other = await page.context().newPage();
  await other.goto(`${issuer}/session/end`);
  await other.getByRole("button", { name: /sign me out/i }).click();
  await until("the page is logged out", () => page.getByText("Your session has ended").isVisible());
  await page.getByRole("button", { name: "Log in with Company" }).waitFor();
  assert.deepEqual(failures, []);
});

test("a log-in that is not completed says why, and the operator's link lets somebody in", async test => {
  const { page, base, server, issuer } = await scene(test, "oidc_only = true");
  await page.goto(`${base}/login`);
  await page.getByRole("button", { name: "Log in with Company" }).waitFor();
  assert.equal(await page.getByLabel("Password").count(), 0, "passwords are off");
  await page.getByRole("button", { name: "Log in with Company" }).click();
  await page.waitForURL(url => url.href.startsWith(issuer));
  await page.goto(`${base}/oidc/sso/callback?code=forged&state=forged`);
  await page.getByRole("alert").filter({ hasText: "expired" }).waitFor();
  assert.deepEqual(await violations(page), []);
  const link = /http\S+\/console\/enter#\S+/.exec(server.command("user", "login-link", "admin"))[0];
  await page.goto(link);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("navigation").waitFor();
  assert.equal(new URL(page.url()).hash, "");
});
