// Tables: everything that the canvas draws, as text. Rows are changed in place, so that focus and scroll position stay.
import { age, clock, count, delay, make, many, rate, say, show } from './dom.js';
import { treeColor } from './colors.js';

export const kRows = 100; // Rows of one page of a long table.

export const kindWords = {
  job_granted: 'granted', job_refused: 'refused', job_ended: 'ended', job_released: 'released', rank_died: 'rank died', node_registered: 'node',
  node_lost: 'node lost', link_up: 'link up', link_down: 'link down', tree_lost: 'tree lost', tree_changed: 'tree', host_registered: 'host',
  host_lost: 'host lost', fabric_changed: 'fabric',
};
const bad = new Set(['job_refused', 'job_released', 'rank_died', 'node_lost', 'link_down', 'tree_lost', 'host_lost']);

/** A table with `columns` [{name, class, sort}]. update(rows): each row a list of texts or {text, href, class, color, bar}. */
export class Table {
  constructor(place, { caption, columns, empty, onSort }) {
    this.columns = columns;
    this.empty = make('p', { class: 'empty', hidden: true }, empty);
    this.heads = columns.map((column) => {
      const head = make('th', { scope: 'col', class: column.class });
      if (column.sort && onSort) head.append(make('button', { type: 'button', onclick: () => onSort(column.sort) }, column.name));
      else head.append(column.name);
      return head;
    });
    this.body = make('tbody');
    this.scroll = make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
      make('table', {}, make('caption', { class: 'hidden' }, caption), make('thead', {}, make('tr', {}, ...this.heads)), this.body));
    this.pager = make('p', { class: 'pager', hidden: true });
    place.replaceChildren(this.scroll, this.empty, this.pager);
  }

  sorted(name, descending) {
    this.columns.forEach((column, index) => {
      if (column.sort) this.heads[index].setAttribute('aria-sort', column.sort === name ? (descending ? 'descending' : 'ascending') : 'none');
    });
  }

  update(rows) {
    show(this.scroll, rows.length > 0);
    show(this.empty, rows.length === 0);
    while (this.body.rows.length > rows.length) this.body.rows[rows.length].remove();
    rows.forEach((row, index) => {
      const line = this.body.rows[index] ?? this.body.appendChild(make('tr', {}, ...this.columns.map((column) => make('td', { class: column.class }))));
      row.forEach((value, at) => setCell(line.cells[at], value));
    });
  }

  /** Shows "1 to 100 of 4,000" with buttons; `go(offset)`. */
  page(offset, total, go) {
    show(this.pager, total > kRows);
    if (total <= kRows) return;
    const last = Math.min(total, offset + kRows);
    if (!this.pager.firstChild) {
      this.before = make('button', { type: 'button', onclick: () => this.go(Math.max(0, this.offset - kRows)) }, 'Back');
      this.after = make('button', { type: 'button', onclick: () => this.go(this.offset + kRows) }, 'On');
      this.where = make('span', { 'aria-live': 'polite' });
      this.pager.append(this.before, this.where, this.after);
    }
    Object.assign(this, { offset, go });
    this.before.disabled = offset === 0;
    this.after.disabled = last >= total;
    say(this.where, `${count(offset + 1)} to ${count(last)} of ${count(total)}`);
  }
}

function setCell(cell, value) {
  const item = typeof value === 'object' && value !== null ? value : { text: value };
  const text = String(item.text ?? '');
  const key = `${text} ${item.href ?? ''} ${item.class ?? ''} ${item.color ?? ''} ${item.bar ?? ''}`;
  if (cell.sumacKey === key) return;
  cell.sumacKey = key;
  const old = cell.querySelector('a');
  if (item.href && old) {
    say(old, text);
    old.setAttribute('href', item.href);
    return;
  }
  const inner = item.href ? make('a', { href: item.href }, text) : make('span', { class: item.class }, text);
  if (item.color) inner.prepend(swatch(item.color));
  cell.replaceChildren(inner);
  if (item.bar !== undefined) cell.append(make('meter', { min: 0, max: 1, value: item.bar, 'aria-label': `${Math.round(100 * item.bar)} percent`, title: `${Math.round(100 * item.bar)} %` }));
}

export function swatch(color) {
  const mark = make('i', { class: 'swatch', 'aria-hidden': 'true' });
  mark.style.background = color;
  return mark;
}

const link = (kind, index, text) => ({ text, href: `#/fabric/${kind}/${index}` });
const none = '\u2013';
export const treeNames = (trees) => trees.map((tree) => `T${tree + 1}`).join(' ') || none;

function ofNodes({ fabric, state }) {
  return fabric.nodes.flatMap((node, index) => {
    if (node.up === false && !state.nodes[index]?.registered && !state.nodes[index]?.trees.length) return [];
    const now = state.nodes[index] ?? { trees: [] };
    const osts = Math.max(0, ...now.trees.map((part) => part.osts_granted)), groups = Math.max(0, ...now.trees.map((part) => part.groups_granted));
    const parents = now.trees.map((part) => {
      const above = fabric.trees[part.tree]?.parents?.[index];
      return `T${part.tree + 1} ${above == null || above < 0 ? 'root' : fabric.nodes[above].name}${part.link_up ? '' : ' (no link)'}`;
    });
    return [[link('node', index, node.name), node.host != null ? `host ${fabric.hosts[node.host].name}` : fabric.switches[node.switch]?.name ?? none,
      now.silent ? { text: 'silent', class: 'bad' } : now.registered ? 'registered' : { text: 'not registered', class: 'bad' }, parents.join(', ') || none,
      now.registered ? { text: `${osts} / ${now.osts}`, bar: now.osts ? osts / now.osts : 0 } : none, now.registered ? `${groups} / ${now.groups}` : none]];
  });
}

function ofHop({ fabric, state }) {
  return fabric.nodes.flatMap((node, index) => {
    const hop = state.nodes[index]?.hop;
    if (!hop) return [];
    return [[link('node', index, node.name), count(hop.frames), count(hop.sums), count(hop.repeats), count(hop.sent),
      hop.strangers ? { text: count(hop.strangers), class: 'bad' } : 0, hop.run_ns ? count(Math.round(hop.run_ns)) : none]];
  });
}

function ofHosts({ fabric, state }) {
  const jobs = new Map(state.host_jobs);
  return fabric.hosts.flatMap((host, index) => {
    if (host.up === false) return [];
    const leaves = fabric.trees.flatMap((tree, number) => (!tree.lost && tree.leaf_of_host[index] != null ? [`T${number + 1} ${fabric.nodes[tree.leaf_of_host[index]].name}`] : []));
    return [[link('host', index, host.name), host.ports.map((port) => fabric.switches[port]?.name ?? none).join(', '),
      state.sharpds[index] === '1' ? 'registered' : { text: 'no sharpd', class: 'bad' }, jobs.get(index) ?? 0, leaves.join(', ') || none]];
  });
}

function ofLinks({ fabric, state }) {
  const most = Math.max(1, ...state.nodes.map((node) => node.osts ?? 0));
  return fabric.links.flatMap((one, index) => {
    if (one.up === false || one.a == null || one.b == null) return [];
    const trees = fabric.trees.flatMap((tree, number) => (!tree.lost && tree.routes.some((route) => route.includes(index)) ? [number] : []));
    const osts = state.link_osts[index] ?? 0;
    return [[link('link', index, `${fabric.switches[one.a].name} - ${fabric.switches[one.b].name}`), rate(one.rate_bits_per_s), delay(one.delay_ns), treeNames(trees),
      { text: String(osts), bar: Math.min(1, osts / most) }]];
  });
}

function ofTrees({ fabric, overview }) {
  return fabric.trees.map((tree, number) => {
    const now = overview.trees[number] ?? {};
    return [{ text: `T${number + 1}`, color: treeColor(number) }, tree.lost ? { text: 'lost', class: 'bad' } : 'works', tree.lost ? none : link('node', tree.root, fabric.nodes[tree.root].name), now.nodes ?? 0,
      now.osts_granted ?? 0, now.osts_free ?? 'not known', now.groups_granted ?? 0, now.groups_free ?? 'not known', String(tree.id)];
  });
}

function ofUsers({ users, overview }) {
  const { user_osts_max: osts, user_groups_max: groups, user_jobs_max: jobs } = overview.limits;
  return users.users.map((user) => [user.user, user.uid, jobs ? `${user.jobs} / ${jobs}` : user.jobs, { text: `${user.osts} / ${osts}`, bar: osts ? Math.min(1, user.osts / osts) : 0 },
    { text: `${user.groups} / ${groups}`, bar: groups ? Math.min(1, user.groups / groups) : 0 }]);
}

const right = 'number';
export const views = {
  nodes: { title: 'Nodes', needs: ['fabric', 'state'], rows: ofNodes, empty: 'No aggregation node is known: start a sharp_an.',
    columns: [{ name: 'Node' }, { name: 'Position' }, { name: 'State' }, { name: 'Parent in each tree' }, { name: 'OSTs granted' }, { name: 'Groups granted', class: right }] },
  hop: { title: 'Small operations in the kernels of nodes, since each node\u2019s start', needs: ['fabric', 'state'], rows: ofHop,
    empty: 'No kernel has seen a datagram: nodes begin with the option hop auto.',
    columns: [{ name: 'Node' }, { name: 'Frames', class: right }, { name: 'Sums', class: right }, { name: 'Repeated', class: right }, { name: 'Sent', class: right },
      { name: 'Of strangers', class: right }, { name: 'ns a frame', class: right }] },
  hosts: { title: 'Hosts', needs: ['fabric', 'state'], rows: ofHosts, empty: 'No host is known: start a sharpd, or describe the fabric.',
    columns: [{ name: 'Host' }, { name: 'Switches' }, { name: 'sharpd' }, { name: 'Jobs', class: right }, { name: 'Leaf in each tree' }] },
  links: { title: 'Links between switches', needs: ['fabric', 'state'], rows: ofLinks, empty: 'The fabric has no links between switches.',
    columns: [{ name: 'Link' }, { name: 'Rate', class: right }, { name: 'Delay', class: right }, { name: 'Trees' }, { name: 'OSTs granted over it' }] },
  trees: { title: 'Trees', needs: ['fabric'], rows: ofTrees, empty: 'There is no tree: no node is up.',
    columns: [{ name: 'Tree' }, { name: 'State' }, { name: 'Root' }, { name: 'Nodes', class: right }, { name: 'OSTs granted', class: right }, { name: 'OSTs free', class: right },
      { name: 'Groups granted', class: right }, { name: 'Groups free', class: right }, { name: 'Id', class: right }] },
  users: { title: 'Users', needs: ['users'], rows: ofUsers, empty: 'No user holds anything.',
    columns: [{ name: 'User' }, { name: 'uid', class: right }, { name: 'Jobs', class: right }, { name: 'OSTs held' }, { name: 'Groups held' }] },
  events: { title: 'Events of the last hour', needs: ['events'], rows: (data) => data.events.events.toReversed().filter((one) => data.now - one.at_ms < 3600e3).map(eventRow),
    empty: 'Nothing has happened in the last hour.', columns: [{ name: 'Time' }, { name: 'Kind' }, { name: 'What' }, { name: 'User' }] },
};

export function eventText(event) {
  return `${event.subject}${event.count > 1 ? ` and ${many(event.count - 1, 'more', 'more')}` : ''} ${event.text}`;
}

export function eventRow(event) {
  return [clock(event.at_ms), { text: kindWords[event.kind] ?? event.kind, class: bad.has(event.kind) ? 'bad' : 'kind' },
    event.job ? { text: eventText(event), href: `#/job/${event.job}` } : eventText(event), event.user ?? ''];
}

export function eventItem(event) {
  const words = event.job ? make('a', { href: `#/job/${event.job}` }, eventText(event)) : make('span', {}, eventText(event));
  return make('li', {}, make('time', {}, clock(event.at_ms)), ' ', make('span', { class: bad.has(event.kind) ? 'bad' : 'kind' }, kindWords[event.kind] ?? event.kind), ' ', words);
}

export const jobColumns = [{ name: 'Job', sort: 'id' }, { name: 'User', sort: 'user' }, { name: 'Phase' }, { name: 'Age', sort: 'age', class: right },
  { name: 'Hosts', sort: 'hosts', class: right }, { name: 'Trees' }, { name: 'OSTs', sort: 'osts', class: right }, { name: 'Groups', class: right },
  { name: 'Payload', class: right }, { name: 'Begun by' }];

export function jobRow(job, now) {
  return [{ text: job.id, href: `#/job/${job.id}` }, job.user, { text: job.phase, class: job.phase === 'running' ? '' : 'kind' }, age(now - job.begun_ms), count(job.hosts),
    treeNames(job.trees), count(job.quota.osts), count(job.quota.groups), `${count(job.quota.payload_per_ost)} B`, job.holder];
}

