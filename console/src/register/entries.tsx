import type { Chain } from 'sexton-client'
import { cards } from '#chains/kinds/cards.ts'
import type { EventCard } from '#serving/site/event-card.ts'
import { age, amount, count, usd } from '../parts/format.ts'
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
          <span class="note">
            {cards.map(({ noun, list }, index) => (
              <>
                {index === 0 ? `${t.all} ` : ', '}
                <a href={`/try#${list.path}`}>{noun}s</a>
              </>
            ))}
          </span>
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

export function EntryTable(props: {
  readonly rows: readonly Entry[]
  readonly chains: readonly Chain[]
  /** Ids of rows that left their chain. */
  readonly gone?: ReadonlySet<string>
  /** Whether the rows are of several wallets. */
  readonly hasWho?: boolean
}) {
  const { rows, chains, gone, hasWho = false } = props
  const now = useNow()
  const toneOf = (name: string) => `chain-${chains.findIndex((chain) => chain.name === name) % 4}`
  return (
    <div class="wide">
      <table class="entries">
        <thead>
          <tr>
            <th>{t.columns.ago}</th>
            <th>{t.columns.what}</th>
            {hasWho && <th class="hide-phone">{t.columns.who}</th>}
            <th class="r">{t.columns.amount}</th>
            <th>
              <span class="vh">{t.columns.token}</span>
            </th>
            <th class="r hide-phone">{t.columns.valueThen}</th>
            <th class="hide-phone">{t.columns.chain}</th>
            <th class="r">
              <span class="vh">{t.columns.finality}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((entry) => (
            <Row
              key={entry.id}
              entry={entry}
              now={now}
              tone={toneOf(entry.chain)}
              isStruck={gone?.has(entry.id) ?? false}
              hasWho={hasWho}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row(props: {
  readonly entry: Entry
  readonly now: number
  readonly tone: string
  readonly isStruck: boolean
  readonly hasWho: boolean
}) {
  const { entry, now, tone, isStruck, hasWho } = props
  const card = cards.find(({ noun }) => noun === entry.entry)
  const who = whoOf(entry, card)
  const words = card?.what(entry)
  const what = entry.explorerUrl === null ? words : <a href={entry.explorerUrl}>{words}</a>
  return (
    <tr class={isStruck ? 'struck' : ''}>
      <td class="ago">{age(now - entry.timestampUnix)}</td>
      <td>
        <span class="s">{what}</span>
        {isStruck && <span class="why"> {t.replaced(count(entry.blockNumber))}</span>}
      </td>
      {hasWho && <td class="hide-phone">{who !== null && <Who address={who} />}</td>}
      <td class="r amount s">{amount(entry.amount)}</td>
      <td class="tok">{entry.token}</td>
      <td class="r hide-phone quiet">{usd(entry.amountUsdAtEvent)}</td>
      <td class="hide-phone">
        <i class={`dot ${tone}`} />
        {entry.chain}
      </td>
      <td class="r">{isStruck ? '×' : <Finality finality={entry.finality} />}</td>
    </tr>
  )
}

function whoOf(entry: Entry, card: EventCard | undefined): string | null {
  const wallet = entry[card?.wallet ?? '']
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
