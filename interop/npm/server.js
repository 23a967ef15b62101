// Serves ten objects of each class with the RDAP server of the npm package rdap:
// node server.js CERTIFICATE KEY [HTTP2]
// It listens on a port of 127.0.0.1 that it prints, and ends with its input.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createSecureServer } from "node:http2";
import { createRdapHandler } from "rdap/server";
import { H3, toNodeHandler } from "h3";

const conformance = ["rdap_level_0"];
const events = (i) => [
  { eventAction: "registration", eventDate: `20${10 + i}-03-04T05:06:07Z` },
  { eventAction: "last changed", eventDate: `2024-0${1 + (i % 9)}-02T03:04:05Z` },
];

const contact = (name, email) => [
  "vcard",
  [
    ["version", {}, "text", "4.0"],
    ["fn", {}, "text", name],
    ["email", {}, "text", email],
    ["tel", { type: "voice" }, "uri", "tel:+999.5550100"],
  ],
];

const entity = (i, roles) => ({
  objectClassName: "entity",
  handle: `PERSON${i}-NPM`,
  roles,
  vcardArray: contact(`Person Number ${i}`, `person${i}@people.example`),
  events: events(i),
});

const nameserver = (i) => ({
  objectClassName: "nameserver",
  handle: `HOST${i}-NPM`,
  ldhName: `ns${i}.names.example`,
  ipAddresses: { v4: [`192.0.2.${i + 1}`], v6: [`2001:db8::${i + 1}`] },
  status: ["active"],
});

const domain = (i) => ({
  objectClassName: "domain",
  handle: `DOMAIN${i}-NPM`,
  ldhName: `name${i}.example`,
  status: ["active", "client transfer prohibited"],
  nameservers: [nameserver(i), nameserver((i + 1) % 10)],
  secureDNS: { delegationSigned: i % 2 === 0 },
  entities: [
    { ...entity(i, ["registrar"]), publicIds: [{ type: "IANA Registrar ID", identifier: `${9900 + i}` }] },
    entity((i + 1) % 10, ["registrant"]),
  ],
  events: [...events(i), { eventAction: "expiration", eventDate: `2${100 + i}-03-04T05:06:07Z` }],
});

const autnum = (i) => ({
  objectClassName: "autnum",
  handle: `AS${64500 + i}`,
  startAutnum: 64500 + i,
  endAutnum: 64500 + i,
  name: `NPM-AS-${i}`,
  country: "ZZ",
  entities: [entity(i, ["registrant"])],
});

const network = (i, v6) => ({
  objectClassName: "ip network",
  handle: v6 ? `NET6-${i}-NPM` : `NET-${i}-NPM`,
  startAddress: v6 ? `2001:db8:${i + 1}::` : `198.51.100.${i * 16}`,
  endAddress: v6 ? `2001:db8:${i + 1}:ffff:ffff:ffff:ffff:ffff` : `198.51.100.${i * 16 + 15}`,
  ipVersion: v6 ? "v6" : "v4",
  name: `NPM-NET-${i}`,
  entities: [entity(i, ["registrant"])],
});

const objects = new Map();
for (let i = 0; i < 10; i++) {
  objects.set(`domain/name${i}.example`, domain(i));
  objects.set(`nameserver/ns${i}.names.example`, nameserver(i));
  objects.set(`entity/PERSON${i}-NPM`, entity(i, ["technical"]));
  objects.set(`autnum/${64500 + i}`, autnum(i));
  for (const [v6, prefix, address] of [
    [false, `198.51.100.${i * 16}/28`, `198.51.100.${i * 16 + 3}`],
    [true, `2001:db8:${i + 1}::/48`, `2001:db8:${i + 1}::5`],
  ]) {
    objects.set(`ip/${prefix}`, network(i, v6));
    objects.set(`ip/${address}`, network(i, v6));
  }
}
objects.set("domain/2.0.192.in-addr.arpa", { objectClassName: "domain", ldhName: "2.0.192.in-addr.arpa", network: network(0, false) });
objects.set("help/help", { notices: [{ title: "An RDAP server", description: ["Of the npm package rdap."] }] });

const handler = createRdapHandler({
  async authorize({ path }) {
    if (path === "/domain/secret.example") {
      throw new Error("members only");
    }
  },
  async dataProvider(query, type) {
    const found = objects.get(`${type}/${query}`);
    return found && { rdapConformance: conformance, ...found };
  },
});

const [cert, key, http2] = process.argv.slice(2);
const options = { cert: readFileSync(cert), key: readFileSync(key), allowHTTP1: true };
const listener = toNodeHandler(new H3().use("/**", handler));
const server = http2 ? createSecureServer(options, listener) : createServer(options, listener);
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
