import type { Chain } from 'sexton-client'
import { cards } from '#data/cards.ts'
import { dayName } from '#site/chart/format.ts'
import { useWords } from '../parts/file-context.ts'
import { age, amount, clock, count, usd } from '../parts/format.ts'
import { useNow } from '../parts/now.ts'
import { Who } from '../parts/who.tsx'
import type { Entry } from '../state/types.ts'
import { texts } from '../texts.ts'

const t = texts.entries
const ROWS = 14

export interface EntriesProps {
  readonly newest: readonly Entry[]
  readonly struck: readonly Entry[]
  readonly chains: readonly Chain[]
}

/** Margin and table; they sit in the section of the register page. */
export function Entries({ newest, struck, chains }: EntriesProps) {
  const gone = new Set(struck.map(({ id }) => id))
  const rows = [...newest.filter(({ id }) => !gone.has(id)), ...struck]
    .sort((a, b) => b.timestampUnix - a.timestampUnix)
    .slice(0, ROWS + struck.length)
  return (
    <>
      <div class="margin">
        <h2 id="entries">{t.title}</h2>
        <p class="note">{t.note}</p>
        <FinalityKey />
        <p class="note">{t.struck}</p>
      </div>
      <div class="body">
        <h3 class="sub">
          {t.newest}{' '}
          <a class="note" href="/entries">
            {t.all}
          </a>
        </h3>
        <EntryTable rows={rows} gone={gone} chains={chains} hasWho />
      </div>
    </>
  )
}

export function FinalityKey() {
  return (
    <p class="note">
      {(['latest', 'safe', 'finalized'] as const).map((finality) => (
        <span key={finality} class="key">
          <Finality finality={finality} /> {t.finality[finality]}
        </span>
      ))}
    </p>
  )
}

export interface EntryTableProps {
  readonly rows: readonly Entry[]
  readonly chains: readonly Chain[]
  /** Ids of rows that left their chain. */
  readonly gone?: ReadonlySet<string>
  /** Whether the rows are of several wallets. */
  readonly hasWho?: boolean
  /** Whether each day has a heading; rows then name their blocks. */
  readonly isByDay?: boolean
}

export function EntryTable({
  rows,
  chains,
  gone,
  hasWho = false,
  isByDay = false,
}: EntryTableProps) {
  const now = useNow()
  const toneOf = (name: string) => `chain-${chains.findIndex((chain) => chain.name === name) % 4}`
  const today = dayName(now, true)
  const days = Map.groupBy(rows, (row) => (isByDay ? dayName(row.timestampUnix, true) : today))
  return (
    <div class="wide">
      <table class="entries">
        <thead>
          <tr>
            <th>{t.columns.ago}</th>
            <th>{t.columns.what}</th>
            {hasWho && <th>{t.columns.who}</th>}
            <th class="r">{t.columns.amount}</th>
            <th>
              <span class="vh">{t.columns.token}</span>
            </th>
            <th class="r usd">{t.columns.valueThen}</th>
            <th>{t.columns.chain}</th>
            {isByDay && <th class="r block">{t.columns.block}</th>}
            <th class="r">
              <span class="vh">{t.columns.finality}</span>
            </th>
          </tr>
        </thead>
        {[...days].map(([day, entries]) => (
          <tbody key={day}>
            {isByDay && (
              <tr class="day">
                <th colSpan={hasWho ? 9 : 8} scope="rowgroup">
                  {day === today ? t.soFar(day) : day}
                </th>
              </tr>
            )}
            {entries.map((entry) => (
              <Row
                key={entry.id}
                entry={entry}
                when={
                  day === today
                    ? age(now - entry.timestampUnix)
                    : clock(entry.timestampUnix).slice(0, 5)
                }
                tone={toneOf(entry.chain)}
                isStruck={gone?.has(entry.id) ?? false}
                hasWho={hasWho}
                hasBlock={isByDay}
              />
            ))}
          </tbody>
        ))}
      </table>
    </div>
  )
}

interface RowProps extends Required<Pick<EntryTableProps, 'hasWho'>> {
  readonly entry: Entry
  readonly when: string
  readonly tone: string
  readonly isStruck: boolean
  readonly hasBlock: boolean
}

function Row({ entry, when, tone, isStruck, hasWho, hasBlock }: RowProps) {
  const card = cards.find(({ noun }) => noun === entry.entry)
  const who = whoOf(entry)
  const words = useWords()(card?.what(entry) ?? '')
  const what = entry.explorerUrl === null ? words : <a href={entry.explorerUrl}>{words}</a>
  return (
    <tr class={isStruck ? 'struck' : ''}>
      <td class="ago" title={entry.timestamp} translate={false}>
        {when}
      </td>
      <td class="what">
        <span class="s">{what}</span>
        {isStruck && <span class="why"> {t.replaced(count(entry.blockNumber))}</span>}
      </td>
      {hasWho && <td class="who">{who !== null && <Who address={who} />}</td>}
      <td class="r amount s" translate={false}>
        {amount(entry.amount)}
      </td>
      <td class="tok" translate={false}>
        {entry.token}
      </td>
      <td class="r usd quiet" translate={false}>
        {usd(entry.amountUsdAtEvent)}
      </td>
      <td class="on">
        <i class={`dot ${tone}`} />
        {entry.chain}
      </td>
      {hasBlock && (
        <td class="r block quiet" translate={false}>
          {count(entry.blockNumber)}
        </td>
      )}
      <td class="r fi">{isStruck ? '×' : <Finality finality={entry.finality} />}</td>
    </tr>
  )
}

/** The wallet of an entry; a distribution has none. */
export function whoOf(entry: Entry): string | null {
  const wallet = entry[cards.find(({ noun }) => noun === entry.entry)?.wallet ?? '']
  return typeof wallet === 'string' ? wallet : null
}

/** Empty, half, full circle. */
export function Finality({ finality }: { readonly finality: Entry['finality'] }) {
  return (
    <svg class="fin" viewBox="0 0 14 14" role="img" aria-label={t.finality[finality]}>
      <circle
        cx="7"
        cy="7"
        r="5.5"
        fill={finality === 'finalized' ? 'currentColor' : 'none'}
        stroke="currentColor"
        stroke-width="1.4"
      />
      {finality === 'safe' && <path d="M7 1.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />}
    </svg>
  )
}
