// The search field: `/` goes there, arrows choose, Enter opens, Escape leaves.
import { get } from './api.js';
import { by, make, show } from './dom.js';

const kPause = 120; // ms after the last key

export function startSearch(open) {
  const field = by('search-text'), list = by('search-found');
  let found = [], chosen = -1, timer = 0, asked = 0;

  function close() {
    show(list, false);
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
    chosen = -1;
  }
  function choose(index) {
    chosen = index;
    [...list.children].forEach((row, at) => row.setAttribute('aria-selected', String(at === index)));
    if (index >= 0) {
      field.setAttribute('aria-activedescendant', `found-${index}`);
      list.children[index].scrollIntoView({ block: 'nearest' });
    }
  }
  function take(index) {
    const one = found[index];
    if (!one) return;
    field.value = '';
    close();
    open(one);
  }
  async function look() {
    const text = field.value.trim(), turn = ++asked;
    if (!text) return close();
    let answer;
    try {
      answer = (await get(`search?q=${encodeURIComponent(text)}`)).found;
    } catch {
      answer = null;
    }
    if (turn !== asked || document.activeElement !== field) return;
    found = answer ?? [];
    list.replaceChildren(...found.map((one, index) =>
      make('li', { role: 'option', id: `found-${index}`, onmousedown: (event) => { event.preventDefault(); take(index); } },
        make('span', { class: 'kind' }, one.kind), make('b', {}, one.name), make('span', { class: 'faint' }, one.about))));
    if (!found.length) list.append(make('li', { class: 'faint', role: 'option', 'aria-disabled': 'true' }, answer ? 'Nothing has such a name.' : 'The manager does not answer.'));
    show(list, true);
    field.setAttribute('aria-expanded', 'true');
    choose(found.length ? 0 : -1);
  }

  field.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(look, kPause); });
  field.addEventListener('blur', close);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (!found.length) return;
      choose((chosen + (event.key === 'ArrowDown' ? 1 : found.length - 1)) % found.length);
    } else if (event.key === 'Enter') {
      if (list.hidden) look();
      else take(chosen);
    } else if (event.key === 'Escape') {
      if (list.hidden) field.blur();
      field.value = '';
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}
