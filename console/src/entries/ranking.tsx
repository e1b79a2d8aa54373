import { useState } from 'preact/hooks'
import { type Holder, type Leader, listHolders, rankGraveDiggers } from 'sexton-client'
import { dayName } from '#site/chart/format.ts'
import { entriesTexts } from '../entries-texts.ts'
import { useWords } from '../parts/file-context.ts'
import { age, amount, count, percent, usd } from '../parts/format.ts'
import { useNow } from '../parts/now.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { QuotaLine } from '../parts/quota-line.tsx'
import { whyUnknown } from '../parts/reason.ts'
import { Who } from '../parts/who.tsx'
import { sexton } from '../state/session.ts'
import { texts } from '../texts.ts'
import type { TabProps } from './all-entries.tsx'
import { Choice } from './filter-bar.tsx'
import { filtersIn, searchOf } from './filters.ts'
import { Requests } from './requests.tsx'

const t = entriesTexts.ranking
const ROWS = 100

/** A wallet of a ranking, as both rankings show it. */
interface Place {
  readonly rank: number
  readonly address: string
  readonly amount: string
  readonly worth: number | null
  readonly sharePct: number
  readonly since: string
  /** When it last moved, in words. */
  last(nowUnix: number): string
}

interface Page {
  readonly places: readonly Place[]
  /** Null at the end. */
  readonly cursor: string | null
}

export function Holders(props: TabProps) {
  const scope = useScope(props)
  const { figures } = props.snapshot
  const { query, token, isFirst } = scope
  const price = figures?.stats?.prices[token]?.usd ?? null
  const placeOf = (holder: Holder): readonly Place[] => {
    const { rank, address, balance, sharePct, firstSeenUnix, lastSeenUnix } = holder
    if (rank === null) return []
    const worth = price === null ? null : Number(balance) * price
    const since = firstSeenUnix === null ? '' : dayName(firstSeenUnix, true)
    const last = () => (lastSeenUnix === null ? '' : dayName(lastSeenUnix, true))
    return [{ rank, address, amount: balance, worth, sharePct, since, last }]
  }
  const holders = figures?.stats?.tokens.find(({ symbol }) => symbol === token)?.holderCount
  const isUnknown = figures !== null && holders === null
  return (
    <Ranking
      {...props}
      t={entriesTexts.holders}
      scope={scope}
      free={isFirst ? (figures?.holders ?? []).flatMap(placeOf) : []}
      count={isFirst && holders ? entriesTexts.holders.count(count(holders), token) : ''}
      why={isUnknown ? whyUnknown(figures.meta, token, query.chain) : undefined}
      request={{ name: 'holders', path: '/api/holders', query }}
      read={async (cursor) => {
        const input = { ...query, limit: ROWS, ...(cursor !== null && { cursor }) }
        const { data, meta } = await listHolders(sexton(), input)
        return { places: data.flatMap(placeOf), cursor: meta.page.nextCursor }
      }}
    />
  )
}

export function Diggers(props: TabProps) {
  const scope = useScope(props)
  const { query, isFirst } = scope
  const placeOf = (leader: Leader): Place => ({
    ...{ rank: leader.rank, address: leader.address, amount: leader.totalClaimed },
    ...{ worth: leader.totalClaimedUsdNow, sharePct: leader.sharePct },
    since: count(leader.digCount),
    last: (nowUnix) => texts.ago(age(nowUnix - leader.lastDigUnix)),
  })
  const { chain: _, ...own } = query
  return (
    <Ranking
      {...props}
      t={entriesTexts.diggers}
      scope={scope}
      free={isFirst ? (props.snapshot.figures?.leaders ?? []).map(placeOf) : []}
      count=""
      request={{ name: 'diggers', path: '/api/grave-digs/leaderboard', query: own }}
      read={async () => {
        const { data } = await rankGraveDiggers(sexton(), { ...own, limit: ROWS })
        return { places: data.map(placeOf), cursor: null }
      }}
    />
  )
}

interface Scope {
  readonly token: string
  readonly chain: string
  /** Parameters of the list. */
  readonly query: Readonly<Record<string, string>>
  /** Whether the page came with its first rows. */
  readonly isFirst: boolean
  choose(next: { readonly token: string; readonly chain: string }): void
}

/** The token and the chain of a ranking, which are in the page's address. */
function useScope({ snapshot: { service } }: TabProps): Scope {
  const primary = service.tokens[0]?.symbol ?? ''
  const [asked, setAsked] = useState(() => filtersIn(location.search, service))
  const { token, chain } = { ...asked, token: asked.token === '' ? primary : asked.token }
  return {
    ...{ token, chain, query: { token, ...(chain !== '' && { chain }) } },
    isFirst: token === primary && chain === '',
    choose(next) {
      setAsked({ ...asked, ...next })
      const search = searchOf({ ...next, token: next.token === primary ? '' : next.token })
      history.replaceState(history.state, '', search === '' ? location.pathname : `?${search}`)
    },
  }
}

interface RankingProps extends TabProps {
  readonly t: typeof entriesTexts.holders | typeof entriesTexts.diggers
  readonly scope: Scope
  readonly free: readonly Place[]
  readonly count: string
  /** Why the list is not known, where that is so. */
  readonly why?: string | undefined
  readonly request: Parameters<typeof Requests>[0]['requests'][number]
  read(cursor: string | null): Promise<Page>
}

function Ranking(props: RankingProps) {
  const { t: own, scope, snapshot, children, request } = props
  const say = useWords()
  const blocks = snapshot.figures?.meta.chains.map(({ chain, blockNumber }) =>
    texts.headline.block(count(blockNumber), chain),
  )
  return (
    <>
      <section class="row top" aria-labelledby="ranking">
        <div class="margin">
          <h1 id="ranking">{say(own.title)}</h1>
          {blocks !== undefined && <p class="note">{texts.headline.asOf(blocks.join(', '))}</p>}
          <p class="note">{say(own.note)}</p>
          <QuotaLine />
        </div>
        <div class="body">
          {children}
          <Scopes {...props} />
          <Places key={searchOf(scope.query)} {...props} />
        </div>
      </section>
      <Requests requests={[request]} />
    </>
  )
}

function Scopes({ scope, snapshot: { service }, request }: RankingProps) {
  const { token, chain, choose } = scope
  const tracked = service.tokens.filter(({ role }) => role !== 'reward')
  return (
    <div class="filters scope">
      <Choice name={t.token} value={token} choose={(next) => choose({ token: next, chain })}>
        {tracked.map(({ symbol }) => (
          <option key={symbol}>{symbol}</option>
        ))}
      </Choice>
      {request.name === 'holders' && (
        <Choice name={t.chain} value={chain} choose={(next) => choose({ token, chain: next })}>
          <option value="">{entriesTexts.all.everyChain}</option>
          {service.chains.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </Choice>
      )}
    </div>
  )
}

/** The rows that came with the page, or those that were read instead. */
function Places({ free, count: holders, t: own, scope, why, read: readPage }: RankingProps) {
  const [read, setRead] = useState<Page>()
  const [failure, setFailure] = useState<unknown>()
  const [isReading, setReading] = useState(false)
  const places = read?.places ?? free
  const more = async () => {
    setFailure(undefined)
    setReading(true)
    try {
      const { places: next, cursor } = await readPage(read?.cursor ?? null)
      setRead({ places: [...(read?.places ?? []), ...next], cursor })
    } catch (error) {
      setFailure(error)
    }
    setReading(false)
  }
  const isRead = read !== undefined
  return (
    <>
      <p class="applied" role="status">
        {holders !== '' && <b>{holders}</b>}
        <span>
          {isRead ? '' : free.length > 0 ? t.free(count(free.length)) : (why ?? t.unread)}
        </span>
      </p>
      {places.length > 0 && <PlaceTable places={places} t={own} token={scope.token} />}
      {failure !== undefined && <ProblemNote error={failure} />}
      {read?.cursor !== null && why === undefined && (
        <p class="more">
          <button type="button" class="btn" disabled={isReading} onClick={more}>
            {isRead ? t.next(`${ROWS}`) : t.first(`${ROWS}`)} <small>{entriesTexts.cost(1)}</small>
          </button>
        </p>
      )}
    </>
  )
}

function PlaceTable(props: {
  readonly places: readonly Place[]
  readonly t: RankingProps['t']
  readonly token: string
}) {
  const { places, t: own, token } = props
  const now = useNow()
  const say = useWords()
  const most = places[0]?.sharePct ?? 0
  const { columns } = own
  return (
    <table class="places">
      <thead>
        <tr>
          <th class="r">{t.columns.rank}</th>
          <th>{t.columns.wallet}</th>
          <th class="r">
            {say(columns.amount)}, {token}
          </th>
          <th class="r worth">{t.columns.worth}</th>
          <th class="r" colSpan={2}>
            {t.columns.share}
          </th>
          <th class="r since">{say(columns.since)}</th>
          <th class="r last">{say(columns.last)}</th>
        </tr>
      </thead>
      <tbody>
        {places.map((each) => (
          <tr key={each.address}>
            <td class="r rank" translate={false}>
              {count(each.rank)}
            </td>
            <td class="who">
              <Who address={each.address} />
            </td>
            <td class="r amount" translate={false}>
              {amount(each.amount)}
            </td>
            <td class="r worth" translate={false}>
              {usd(each.worth)}
            </td>
            <td class="bar-cell" aria-hidden="true">
              <span class="share" style={{ width: `${(each.sharePct / most) * 100}%` }} />
            </td>
            <td class="r sh" translate={false}>
              {percent(each.sharePct, 4)}
            </td>
            <td class="r quiet since" translate={false}>
              {each.since}
            </td>
            <td class="r quiet last" translate={false}>
              {each.last(now)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
