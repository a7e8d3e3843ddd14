// The page of one job.
import { age, clock, count, make, many } from './dom.js';
import { eventItem, swatch } from './tables.js';
import { treeColor } from './colors.js';

const kHostsShown = 200;

function figures(list) {
  return make('dl', { class: 'facts' }, ...list.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}

function tree(share, job, fabric) {
  const below = share.nodes.map(() => []);
  share.parents.forEach((above, index) => { if (above != null) below[above].push(index); });
  const hosts = share.nodes.map(() => 0);
  share.leaves.forEach((leaf) => { ++hosts[leaf]; });
  const branch = (index) => make('li', {}, make('a', { href: `#/fabric/node/${share.nodes[index]}` }, fabric.nodes[share.nodes[index]]?.name ?? '?'),
    hosts[index] ? make('span', { class: 'faint' }, ` ${many(hosts[index], 'host')}`) : null,
    below[index].length ? make('ul', {}, ...below[index].map(branch)) : null);
  return make('div', { class: 'card' }, make('h3', {}, swatch(treeColor(share.tree)), `Tree T${share.tree + 1}`), make('ul', { class: 'branches' }, branch(0)));
}

export function jobPage(job, fabric, now) {
  const quota = job.quota, trees = quota.trees;
  const hosts = job.host_list.slice(0, kHostsShown).map((host) => make('li', {}, make('a', { href: `#/fabric/host/${host}` }, fabric.hosts[host]?.name ?? '?')));
  const rest = job.host_list.length - hosts.length;
  const card = (title, ...more) => make('div', { class: 'card' }, make('h3', {}, title), ...more);
  return [
    make('div', { class: 'columns' }, card('Job', figures([['User', `${job.user} (uid ${job.uid})`], ['Phase', job.phase], ['Age', age(now - job.begun_ms)], ['Begun', clock(job.begun_ms)], ['Begun by', job.holder],
      ['Number', String(job.number)], ['Reservation', job.reservation || 'none']])),
    card(trees > 1 ? `Granted in each of ${trees} trees` : 'Granted', figures([['OSTs', count(quota.osts)], ['Groups', count(quota.groups)], ['Payload of an OST', `${count(quota.payload_per_ost)} B`], ['QPs', count(quota.qps)],
      ['Channels of a group', count(quota.group_channels)], ['Streaming', quota.stream_window ? `${quota.stream_window} chunks of ${count(quota.chunk_bytes)} B` : 'no']])),
      ...job.shares.map((share) => tree(share, job, fabric))),
    make('p', {}, make('a', { href: `#/fabric/job/${job.id}`, class: 'button' }, 'Show it in the fabric')),
    make('h3', {}, many(job.host_list.length, 'host')),
    make('ul', { class: 'hosts' }, ...hosts, rest > 0 ? make('li', { class: 'faint' }, `and ${count(rest)} more`) : null),
    make('h3', {}, 'Events'),
    job.events.length ? make('ol', { class: 'events' }, ...job.events.toReversed().map(eventItem)) : make('p', { class: 'empty' }, 'None in the last hour.'),
  ];
}
