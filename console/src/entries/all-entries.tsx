import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { EventCard } from '#site/event-card.ts'
import { entriesTexts } from '../entries-texts.ts'
import { count } from '../parts/format.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { QuotaLine } from '../parts/quota-line.tsx'
import { EntryTable, FinalityKey } from '../register/entries.tsx'
import type { Entry, Snapshot } from '../state/types.ts'
import { FilterBar } from './filter-bar.tsx'
import { type Filters, filtersIn, kindsOf, matches, queryOf, searchOf } from './filters.ts'
import { Requests } from './requests.tsx'
import { useOlder } from './use-older.ts'

const t = entriesTexts.all

export interface TabProps {
  readonly snapshot: Snapshot
  readonly struck: readonly Entry[]
  /** The way to the others. */
  readonly children: ComponentChildren
}

/** Burns, claims and digs together. The newest come with the page; older ones are calls of the person. */
export function AllEntries(props: TabProps) {
  const { service } = props.snapshot
  const [filters, setFilters] = useState<Filters>(() => filtersIn(location.search, service))
  const choose = (next: Filters) => {
    setFilters(next)
    const search = searchOf(next)
    history.replaceState(history.state, '', search === '' ? location.pathname : `?${search}`)
  }
  const kinds = kindsOf(service, filters.kind)
  const query = queryOf(filters)
  return (
    <>
      <section class="row top" aria-labelledby="all-entries">
        <div class="margin">
          <h1 id="all-entries">{t.title}</h1>
          <p class="note">{t.note}</p>
          <FinalityKey />
          <p class="note">{t.struck}</p>
          <QuotaLine />
        </div>
        <div class="body">
          {props.children}
          <FilterBar filters={filters} service={service} choose={choose} />
          <Matching key={searchOf(filters)} {...props} {...{ filters, kinds, query }} />
        </div>
      </section>
      <Requests requests={kinds.map(({ noun, list }) => ({ name: `${noun}s`, ...list, query }))} />
    </>
  )
}

interface MatchingProps extends TabProps {
  readonly filters: Filters
  readonly kinds: readonly EventCard[]
  readonly query: Readonly<Record<string, string>>
}

function Matching({ snapshot, struck, filters, kinds, query }: MatchingProps) {
  const older = useOlder(kinds, query)
  const newest = snapshot.figures?.newest ?? []
  const gone = new Set(struck.map(({ id }) => id))
  const byId = new Map<string, Entry>()
  // The newest say best how final an entry is.
  for (const entry of [...older.rows, ...newest, ...struck])
    if (matches(entry, filters)) byId.set(entry.id, entry)
  const rows = [...byId.values()].sort((a, b) => b.timestampUnix - a.timestampUnix)
  return (
    <>
      <p class="applied" role="status">
        <b>{t.shown(count(rows.length))}</b> <span>{t.free}</span>
      </p>
      {rows.length === 0 ? (
        <p class="quiet">{older.calls === 0 ? t.noneAtAll : t.none}</p>
      ) : (
        <EntryTable rows={rows} gone={gone} chains={snapshot.service.chains} hasWho isByDay />
      )}
      {older.failure !== undefined && <ProblemNote error={older.failure} />}
      <p class="more">
        {older.calls === 0 ? (
          <span class="note">{t.end}</span>
        ) : (
          <button type="button" class="btn" disabled={older.isReading} onClick={older.more}>
            {t.older} <small>{entriesTexts.cost(older.calls)}</small>
          </button>
        )}
      </p>
    </>
  )
}
