// The page: routes, refreshes, and what stands beside the canvas.
import { forget, get, hasToken, Missing, Refused, takeToken } from './api.js';
import { FabricCanvas } from './canvas.js';
import { isDark, treeColor } from './colors.js';
import { age, by, count, delay, make, many, rate, say, show } from './dom.js';
import { jobPage } from './job.js';
import { startSearch } from './search.js';
import { eventItem, jobColumns, jobRow, kRows, swatch, Table, treeNames, views } from './tables.js';

const kEvery = 1000, kEveryHidden = 10000, kEveryGone = 2000, kRecent = 12, kJobsBeside = 10;
const tabs = [['fabric', 'Fabric'], ['jobs', 'Jobs'], ['events', 'Events'], ['nodes', 'Nodes'], ['hop', 'Hop'], ['hosts', 'Hosts'], ['links', 'Links'], ['trees', 'Trees'], ['users', 'Users']];
const data = {};
const seen = { versions: {}, jobs: '' };
let route = { view: 'fabric' }, hiddenTrees = new Set(), jobSort = { sort: 'age', descending: false, offset: 0 }, tableOffset = 0;
let lastAnswer = 0, timer = 0, refreshing = false, again = false, offline = false, table = null, tableOf = '', besideTable = null;

const canvas = new FabricCanvas(by('canvas'), { onSelect: selected, tip: by('tip'), said: by('said') });

// ---- routes

function parseRoute() {
  const [view, kind, index] = location.hash.replace(/^#\/?/, '').split('/');
  if (view === 'job' && /^\d+$/.test(kind ?? '')) return { view, id: kind };
  // A link may come from anywhere: what is no index asks the API for nothing.
  if (tabs.some(([name]) => name === view)) return kind === undefined || /^\d+$/.test(index ?? '') ? { view, kind, index } : { view };
  return { view: 'fabric' };
}

function go() {
  if (takeToken()) seen.versions = {};
  const before = route;
  route = parseRoute();
  if (route.view !== before.view) { tableOffset = 0; jobSort.offset = 0; }
  seen.applied = false;
  render();
  refresh();
  if (route.view !== before.view || route.id !== before.id) {
    scrollTo(0, 0);
    const title = { job: 'job-title' }[route.view] ?? (route.view === 'fabric' ? null : 'table-title');
    if (title) by(title).focus({ preventScroll: true });
  }
}

// ---- refreshes: the small overview each second, and of the rest what has changed and is shown

function needs() {
  if (route.view === 'fabric') return ['fabric', 'state', 'events', 'jobs', ...(route.kind === 'job' ? ['job'] : [])];
  if (route.view === 'job') return ['fabric', 'job', 'events'];
  if (route.view === 'jobs') return ['jobs'];
  return views[route.view].needs;
}

function jobsPath() {
  if (route.view === 'fabric') return `jobs?limit=${kJobsBeside}`;
  return `jobs?offset=${jobSort.offset}&limit=${kRows}&sort=${jobSort.sort}&descending=${jobSort.descending ? 1 : 0}`;
}

async function load() {
  // The first time all comes at once. Whether the parts are of the overview's versions is not known then: the next refresh asks again.
  const first = data.overview ? [] : needs().filter((name) => name !== 'job');
  const [found, ...parts] = await Promise.all([get('overview'), ...first.map((name) => get(name === 'jobs' ? jobsPath() : name))]);
  data.overview = found;
  first.forEach((name, index) => { data[name] = parts[index]; });
  if (first.length) {
    if (first.includes('jobs')) seen.jobs = jobsPath();
    if (!needs().includes('job')) return;
  }
  const versions = data.overview.versions, wanted = needs();
  const stamp = { fabric: versions.fabric, events: versions.events };
  const changed = (part) => seen.versions[part] !== (stamp[part] ?? `${versions.state} ${versions.fabric} ${versions.sharpds}`) || !data[part];
  const loads = [];
  const part = (name, path = name) => {
    if (!wanted.includes(name) || !changed(name)) return;
    loads.push(get(path).then((body) => { data[name] = body; seen.versions[name] = stamp[name] ?? `${versions.state} ${versions.fabric} ${versions.sharpds}`; }));
  };
  part('fabric');
  part('state');
  part('events');
  part('users');
  if (seen.jobs !== jobsPath()) seen.versions.jobs = null;
  if (wanted.includes('jobs')) seen.jobs = jobsPath();
  part('jobs', jobsPath());
  const id = route.view === 'job' ? route.id : route.index;
  if (wanted.includes('job')) loads.push(get(`jobs/${id}`).then((job) => { data.job = job; }, (error) => {
    if (!(error instanceof Missing)) throw error;
    data.job = { id, missing: true };
  }));
  await Promise.all(loads);
}

async function refresh() {
  if (refreshing) { again = true; return; }
  clearTimeout(timer);
  if (!hasToken()) return render();
  refreshing = true;
  let every = document.hidden ? kEveryHidden : kEvery;
  try {
    await load();
    lastAnswer = Date.now();
    offline = false;
    data.refused = false;
    data.shift = data.overview.now_ms - Date.now();
    render();
  } catch (error) {
    if (error instanceof Refused) data.refused = true;
    else { every = kEveryGone; offline = true; }
    if (error instanceof Refused) { forget(); render(); }
  }
  refreshing = false;
  showStatus();
  if (data.refused) return;
  timer = setTimeout(refresh, again ? 0 : every);
  again = false;
}

const now = () => Date.now() + (data.shift ?? 0);

function showStatus() {
  const element = by('status');
  let kind = 'good', text = 'up to date';
  if (!hasToken() || data.refused) [kind, text] = ['off', 'not signed in'];
  else if (offline) [kind, text] = ['gone', lastAnswer ? `last answer ${age(Date.now() - lastAnswer)} ago; trying again` : 'the manager does not answer; trying again'];
  else if (!lastAnswer) [kind, text] = ['off', 'connecting'];
  element.className = kind;
  document.body.classList.toggle('stale', kind === 'gone');
  say(by('status-text'), text);
}

// ---- rendering

function notice(title, text, command) {
  show(by('notice'), true);
  for (const name of ['fabric', 'table', 'job']) show(by(`view-${name}`), false);
  say(by('notice-title'), title);
  say(by('notice-text'), text);
  say(by('notice-command'), command);
}

function render() {
  document.title = `Sumac${data.overview?.fabric.name ? ` - ${data.overview.fabric.name}` : ''}`;
  for (const link of by('tabs').querySelectorAll('a')) {
    const current = link.dataset.view === route.view || (route.view === 'job' && link.dataset.view === 'jobs');
    if (current) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (data.refused) return notice('This token is not valid any more', 'It has expired, or the manager was started again. Print a new address on the manager\u2019s machine:', 'sumac page');
  if (!hasToken()) return notice('This page needs a token', 'Print its address with a token for you, on the manager\u2019s machine, and open that:', 'sumac page');
  if (!data.overview) return;
  show(by('notice'), false);
  const { overview } = data;
  say(by('fabric-name'), overview.fabric.name);
  say(by('about'), `sharp_am ${overview.manager.version}, up for ${age(now() - overview.manager.started_ms)}. ${overview.viewer.user ? `You are ${overview.viewer.user}${overview.viewer.operator ? ', an operator: you see all jobs' : ': you see your own jobs, and totals of all'}.` : 'You see all jobs.'}`);
  show(by('view-fabric'), route.view === 'fabric');
  show(by('view-job'), route.view === 'job');
  show(by('view-table'), route.view !== 'fabric' && route.view !== 'job');
  if (route.view === 'fabric') renderFabric();
  else if (route.view === 'job') renderJob();
  else renderTable();
}

/** "h2, h3 and 5 more", of at most 20 names. */
const some = (names, all) => `${names.slice(0, 3).join(', ')}${all > 3 ? ` and ${count(all - 3)} more` : ''}`;

function figure(name, value, about, kind = '') { return { name, value, about, kind }; }

/** Returns the figure of what is there of all that the fabric has, with the names of some that are missing. */
function presence(name, all, there, missing, good, without, kind) {
  return there < all ? figure(name, `${count(there)} of ${count(all)}`, `${without}: ${some(missing, all - there)}`, kind) : figure(name, count(all), good);
}

function renderFigures() {
  const { overview } = data, { fabric, jobs } = overview;
  const free = overview.trees.filter((tree) => !tree.lost);
  const osts = free.length ? Math.max(...free.map((tree) => tree.osts_granted)) : 0, known = free.filter((tree) => tree.osts_free != null);
  const list = [
    figure('Jobs', count(jobs.running), jobs.beginning + jobs.waiting ? `${count(jobs.beginning + jobs.waiting)} beginning` : jobs.leaving ? `${count(jobs.leaving)} leaving` : overview.viewer.operator ? 'running' : `running, ${count(jobs.visible)} yours`),
    presence('Hosts', fabric.hosts, fabric.sharpds, fabric.sharpds_missing, `all with sharpd${fabric.sharpds_elsewhere ? `, ${fabric.sharpds_elsewhere} unknown` : ''}`, 'no sharpd', 'warn'),
    presence('Nodes', fabric.nodes, fabric.nodes_registered, fabric.nodes_missing, 'all registered', 'missing', 'bad'),
    figure('Trees', count(free.length), overview.trees.length > free.length ? `${overview.trees.length - free.length} lost` : 'all work', overview.trees.length > free.length ? 'bad' : ''),
    figure('OSTs granted', count(osts), known.length ? `${count(Math.min(...known.map((tree) => tree.osts_free)))} free everywhere` : 'free: not known'),
    figure('Since the start', count(jobs.granted_total), `granted; ${count(jobs.refused_total)} refused, ${count(jobs.released_total)} released`),
  ];
  const place = by('figures');
  while (place.children.length < list.length) place.append(make('div', {}, make('span', { class: 'name' }), make('b'), make('span', { class: 'about' })));
  list.forEach((one, index) => {
    const box = place.children[index];
    say(box.children[0], one.name);
    say(box.children[1], one.value);
    say(box.children[2], one.about);
    box.className = one.kind;
  });
}

function renderFabric() {
  renderFigures();
  if (data.fabric && canvas.fabric !== data.fabric) {
    canvas.setFabric(data.fabric);
    renderLegend();
  }
  if (data.state && canvas.state !== data.state) canvas.setState(data.state);
  applyRoute();
  if (data.fabric && data.state) renderSelection();
  const recent = (data.events?.events ?? []).filter((event) => now() - event.at_ms < 3600e3).slice(-kRecent).reverse();
  const key = recent.map((event) => event.id).join();
  if (seen.recent !== key) {
    seen.recent = key;
    by('recent').replaceChildren(...(recent.length ? recent.map(eventItem) : [make('li', { class: 'empty' }, 'Nothing has happened.')]));
  }
  besideTable ??= new Table(by('fabric-jobs'), { caption: 'Newest jobs', columns: jobColumns.map(({ sort, ...column }) => column), empty: 'No jobs run.' });
  if (data.jobs) {
    besideTable.update(data.jobs.jobs.map((job) => jobRow(job, now())));
    say(by('fabric-jobs-title'), data.jobs.total > data.jobs.jobs.length ? `The newest ${data.jobs.jobs.length} of ${many(data.jobs.total, 'job')}` : 'Jobs');
  }
}

function applyRoute() {
  if (!data.fabric) return;
  if (route.kind === 'job') {
    if (data.job?.id === route.index && !data.job.missing && canvas.job?.id !== route.index) canvas.setJob(data.job);
  } else if (canvas.job) canvas.setJob(null);
  if (seen.applied || !route.kind || route.kind === 'job') return;
  const list = { host: data.fabric.hosts, node: data.fabric.nodes, switch: data.fabric.switches, link: data.fabric.links }[route.kind];
  const index = Number(route.index);
  seen.applied = true;
  if (list?.[index] && !(canvas.selected?.kind === route.kind && canvas.selected.index === index)) canvas.select({ kind: route.kind, index }, true);
}

function renderLegend() {
  by('legend').replaceChildren(...data.fabric.trees.map((tree, number) => {
    const box = make('input', { type: 'checkbox', id: `tree-${number}` });
    box.checked = !hiddenTrees.has(number);
    box.addEventListener('change', () => {
      if (box.checked) hiddenTrees.delete(number);
      else hiddenTrees.add(number);
      canvas.setHidden(hiddenTrees);
    });
    return make('li', {}, make('label', {}, box, swatch(treeColor(number)), make('b', {}, `T${number + 1}`), ' ',
      tree.lost ? make('span', { class: 'bad' }, 'lost') : make('span', { class: 'faint' }, 'root ')), tree.lost ? null : make('a', { href: `#/fabric/node/${tree.root}` }, data.fabric.nodes[tree.root].name));
  }));
  if (!data.fabric.trees.length) by('legend').append(make('li', { class: 'empty' }, 'There is no tree.'));
  say(by('key'), 'A circle is a node, filled as far as its OSTs are granted; a ring marks a root, a cross one that is not registered, or silent. A filled host has jobs, a dashed one no sharpd.');
}

function selected(item) {
  if (item) {
    say(by('said'), `${item.kind} ${canvas.nameOf(item)}`);
    history.replaceState(null, '', `#/fabric/${item.kind}/${item.index}`);
    route = parseRoute();
  } else if (route.kind) {
    history.replaceState(null, '', '#/fabric');
    route = parseRoute();
    canvas.setJob(null);
    say(by('said'), 'nothing is selected');
  }
  seen.applied = true;
  if (data.state) renderSelection();
}

function facts(list) { return make('dl', { class: 'facts' }, ...list.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)])); }
const to = (kind, index, name) => make('a', { href: `#/fabric/${kind}/${index}` }, name);

function describe(item) {
  const { fabric, state } = data;
  if (item.kind === 'host') {
    const host = fabric.hosts[item.index], jobs = new Map(state.host_jobs).get(item.index) ?? 0;
    return [['Switches', make('span', {}, ...host.ports.flatMap((port, at) => [at ? ', ' : '', port == null ? '?' : to('switch', port, fabric.switches[port].name)]))],
      ['sharpd', state.sharpds[item.index] === '1' ? 'registered' : 'not registered'], ['Jobs here', count(jobs)],
      ...fabric.trees.flatMap((tree, number) => (!tree.lost && tree.leaf_of_host[item.index] != null ? [[`Leaf in T${number + 1}`, to('node', tree.leaf_of_host[item.index], fabric.nodes[tree.leaf_of_host[item.index]].name)]] : []))];
  }
  if (item.kind === 'node') {
    const node = fabric.nodes[item.index], at = state.nodes[item.index] ?? { trees: [] };
    return [['Position', node.host != null ? to('host', node.host, fabric.hosts[node.host].name) : to('switch', node.switch, fabric.switches[node.switch]?.name ?? '?')],
      ['State', at.registered ? `registered, pid ${at.pid}${at.silent ? `; silent: ${at.silent}` : ''}` : 'not registered'],
      ...at.trees.map((part) => {
        const above = fabric.trees[part.tree].parents?.[item.index];
        return [`In T${part.tree + 1}`, make('span', {}, above == null || above < 0 ? 'the root' : make('span', {}, 'below ', to('node', above, fabric.nodes[above].name)),
          `; OSTs ${part.osts_granted}${at.osts ? ` of ${at.osts}` : ''}, groups ${part.groups_granted}${at.groups ? ` of ${at.groups}` : ''} granted${part.link_up ? '' : `; no link: ${part.link_why ?? 'not connected'}`}`)];
      })];
  }
  if (item.kind === 'link') {
    const link = fabric.links[item.index];
    return [['Ends', make('span', {}, to('switch', link.a, fabric.switches[link.a].name), ' and ', to('switch', link.b, fabric.switches[link.b].name))], ['Rate', rate(link.rate_bits_per_s)], ['Delay', delay(link.delay_ns)],
      ['Trees', treeNames(fabric.trees.flatMap((tree, number) => (!tree.lost && tree.routes.some((route_) => route_.includes(item.index)) ? [number] : [])))], ['OSTs granted over it', count(state.link_osts[item.index] ?? 0)]];
  }
  const hosts = fabric.hosts.filter((host) => host.up !== false && host.ports.includes(item.index)).length;
  const nodes = fabric.nodes.flatMap((node, index) => (node.switch === item.index ? [to('node', index, node.name), ' '] : []));
  const links = fabric.links.flatMap((link, index) => (link.up !== false && (link.a === item.index || link.b === item.index) ? [index] : []));
  return [['Hosts', count(hosts)], ['Nodes', nodes.length ? make('span', {}, ...nodes) : 'none'], ['Links', make('span', {}, ...links.slice(0, 12).flatMap((index) => {
    const link = fabric.links[index], other = link.a === item.index ? link.b : link.a;
    return [to('link', index, fabric.switches[other].name), ' '];
  }), links.length > 12 ? `and ${links.length - 12} more` : links.length ? '' : 'none')]];
}

function renderSelection() {
  const place = by('selection'), item = canvas.selected, job = route.kind === 'job' ? data.job : null;
  const key = job ? `job ${job.id} ${job.phase}` : item ? `${item.kind} ${item.index} ${seen.versions.state} ${seen.versions.fabric}` : '';
  if (seen.selection === key) return;
  const held = place.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  seen.selection = key;
  if (job) place.replaceChildren(make('h2', {}, `Job ${job.id}`), job.missing ? make('p', { class: 'empty' }, 'It does not run, or it is another user\u2019s.') : facts([['User', job.user], ['Hosts', count(job.hosts)], ['Trees', treeNames(job.trees)], ['OSTs', count(job.quota.osts)]]),
    make('p', {}, make('a', { href: `#/job/${job.id}` }, 'Its page'), ' ', make('a', { href: '#/fabric' }, 'Show all')));
  else if (item) place.replaceChildren(make('h2', {}, `${item.kind[0].toUpperCase()}${item.kind.slice(1)} ${canvas.nameOf(item)}`), facts(describe(item)));
  else place.replaceChildren();
  if (held) [...place.querySelectorAll('a')].find((link) => link.getAttribute('href') === held)?.focus();
}

function renderTable() {
  const { view } = route;
  if (tableOf !== view) {
    tableOf = view;
    const wanted = view === 'jobs' ? { title: 'Jobs', columns: jobColumns, empty: 'No jobs run.' } : views[view];
    say(by('table-title'), wanted.title);
    table = new Table(by('table'), { caption: wanted.title, columns: wanted.columns, empty: wanted.empty, onSort: sortJobs });
  }
  if (view === 'jobs') {
    if (!data.jobs || seen.jobs !== jobsPath() || !data.jobs.jobs) return;
    if (data.jobs.total > 0 && data.jobs.offset >= data.jobs.total) { jobSort.offset = 0; return refresh(); }
    table.update(data.jobs.jobs.map((job) => jobRow(job, now())));
    table.sorted(jobSort.sort, jobSort.descending);
    return table.page(jobSort.offset, data.jobs.total, (offset) => { jobSort.offset = offset; refresh(); });
  }
  if (!views[view].needs.every((name) => data[name])) return;
  const rows = views[view].rows({ ...data, now: now() });
  if (tableOffset >= rows.length) tableOffset = 0;
  table.update(rows.slice(tableOffset, tableOffset + kRows));
  table.page(tableOffset, rows.length, (offset) => { tableOffset = offset; render(); });
}

function sortJobs(name) {
  jobSort = { sort: name, descending: jobSort.sort === name ? !jobSort.descending : name === 'osts' || name === 'hosts', offset: 0 };
  refresh();
}

function renderJob() {
  say(by('job-title'), `Job ${route.id}`);
  if (!data.job || data.job.id !== route.id || !data.fabric) return;
  const key = JSON.stringify([data.job, Math.floor(now() / 1000)]);
  if (seen.job === key) return;
  const still = seen.job && by('job').contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  seen.job = key;
  if (data.job.missing) {
    const past = (data.events?.events ?? []).filter((event) => event.job === route.id).reverse();
    by('job').replaceChildren(make('p', { class: 'empty' }, 'It does not run any more, or it is another user\u2019s.'), make('ol', { class: 'events' }, ...past.map(eventItem)));
  } else by('job').replaceChildren(...jobPage(data.job, data.fabric, now()));
  if (still) [...by('job').querySelectorAll('a')].find((link) => link.getAttribute('href') === still)?.focus();
}

// ---- light and dark

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  say(by('theme'), isDark() ? 'Light' : 'Dark');
  by('theme').setAttribute('aria-label', isDark() ? 'Use light colours' : 'Use dark colours');
  if (data.fabric) renderLegend();
  canvas.redraw();
}

by('theme').addEventListener('click', () => {
  const next = isDark() ? 'light' : 'dark';
  localStorage.setItem('sumac-theme', next);
  setTheme(next);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(localStorage.getItem('sumac-theme')));

// ---- start

by('zoom-in').addEventListener('click', () => canvas.zoomBy(1.4));
by('zoom-out').addEventListener('click', () => canvas.zoomBy(1 / 1.4));
by('zoom-fit').addEventListener('click', () => canvas.fit());
by('tabs').append(...tabs.map(([view, name]) => make('li', {}, make('a', { href: `#/${view}`, 'data-view': view }, name))));
startSearch((one) => {
  if (one.kind === 'job') location.hash = `#/job/${one.name}`;
  else if (one.kind === 'user') location.hash = '#/users';
  else location.hash = `#/fabric/${one.kind}/${one.index}`;
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && (route.view === 'job' || route.kind)) location.hash = route.view === 'job' ? '#/jobs' : '#/fabric';
});
addEventListener('hashchange', go);
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
setInterval(showStatus, 1000);
setTheme(localStorage.getItem('sumac-theme'));
showStatus();
go();
