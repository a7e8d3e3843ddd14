// Talks to the manager. The token comes in the fragment of the address, which browsers send to nobody, and is kept for this
// tab only. It is no cookie, because a browser would send a cookie to every port of this machine.

const KEY = 'sumac-token';
const kPatience = 8000;

let token = sessionStorage.getItem(KEY);
const tags = new Map();   // path -> ETag
const bodies = new Map(); // path -> what came last

/** Takes the token out of the address. Returns true if a new one came. */
export function takeToken() {
  const found = /^#token=([0-9a-f]{64})$/.exec(location.hash);
  if (!found) return false;
  token = found[1];
  sessionStorage.setItem(KEY, token);
  forget();
  history.replaceState(null, '', `${location.pathname}#/fabric`);
  return true;
}

export const hasToken = () => Boolean(token);

export function forget() {
  tags.clear();
  bodies.clear();
}

export class Refused extends Error {}  // The token is wrong or has expired.
export class Missing extends Error {}  // There is no such thing.

/** Returns the answer to GET path, the same object as before if it has not changed. */
export async function get(path) {
  const headers = { Authorization: `Bearer ${token}` };
  if (tags.has(path)) headers['If-None-Match'] = tags.get(path);
  const answer = await fetch(`/api/v1/${path}`, { headers, cache: 'no-store', signal: AbortSignal.timeout(kPatience) });
  if (answer.status === 304) return bodies.get(path);
  // 421: the manager was started again, under another name.
  if (answer.status === 401 || answer.status === 421) throw new Refused();
  if (answer.status === 404) throw new Missing();
  if (!answer.ok) throw new Error(`${answer.status}`);
  const body = await answer.json();
  if (bodies.size > 200) forget();
  const tag = answer.headers.get('ETag');
  if (tag) {
    tags.set(path, tag);
    bodies.set(path, body);
  }
  return body;
}
