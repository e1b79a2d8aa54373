import type { ComponentChildren } from 'preact'
import type { Service } from 'sexton-client'
import { joinWords } from '#base/text.ts'
import { useWords } from '../parts/file-context.ts'
import { count, percent, price, splitAmount, usd } from '../parts/format.ts'
import { whyNoPrice, whyUnknown } from '../parts/reason.ts'
import type { Figures } from '../state/types.ts'
import { texts } from '../texts.ts'

const t = texts.headline

const UNKNOWN = '—'

export interface HeadlineProps {
  readonly figures: Figures
  readonly service: Service
}

/** What this is, one figure, and the others as an account closed by a double rule. */
export function Headline({ figures, service }: HeadlineProps) {
  const { stats, burns, meta } = figures
  const say = useWords()
  const symbol = stats.tokens[0]?.symbol ?? ''
  const [units, rest] = stats.totalBurned === null ? [UNKNOWN, ''] : splitAmount(stats.totalBurned)
  const blocks = meta.chains.map(({ chain, blockNumber }) => t.block(count(blockNumber), chain))
  const has = (part: (typeof meta.notConfigured)[number]) => !meta.notConfigured.includes(part)
  return (
    <section class="row hero" aria-labelledby="burned">
      <div class="margin">
        <p class="note" translate={false}>
          {t.asOf(blocks.join(', '))}
        </p>
        <p class="note">{t.free}</p>
      </div>
      <div class="body">
        <Intro service={service} />
        <div>
          <h1 id="burned">{t.title(symbol)}</h1>
          <p class={`big ${sizeOf(units)}`} translate={false}>
            {units}
            <small>{rest}</small>
          </p>
          <p class="under" translate={false}>
            {stats.burnedPct !== null && (
              <span>
                <b>{percent(stats.burnedPct)}</b> {t.ofMinted}
              </span>
            )}
            {burns.totalBurnedUsdNow !== null && (
              <span>
                <b>${count(burns.totalBurnedUsdNow)}</b> {t.today}
              </span>
            )}
            <span>
              <b>{count(burns.last24h.burned)}</b> {t.lastDay}
            </span>
          </p>
        </div>
        <div>
          <dl class="account">
            {trackedOf(stats).map((token) => (
              <TokenLines key={token.symbol} token={token} stats={stats} />
            ))}
            {has('graveDigs') && <Line name={say(t.digs)}>{count(stats.graveDigs.count)}</Line>}
            {has('dividends') && (
              <Line name={t.dividends}>{usd(stats.lifetimeDividendsUsdAtPayout) || UNKNOWN}</Line>
            )}
          </dl>
          {reasonsOf(figures).map((reason) => (
            <p key={reason} class="note why">
              {reason}
            </p>
          ))}
        </div>
      </div>
    </section>
  )
}

function Intro({ service }: { readonly service: Service }) {
  const { chains, tokens, tiers, pricing } = service
  const named = tokens.filter(({ role }) => role !== 'reward')
  const names = joinWords(
    named.map(({ name, symbol }) => (name === symbol ? name : `${name} (${symbol})`)),
    'and',
  )
  const places = joinWords(
    chains.map(({ name }) => name),
    'and',
  )
  const quota = count(tiers[0]?.dailyQuota ?? 0)
  return (
    <p class="intro">
      {t.intro(service.service, names, places)}{' '}
      {t.call(quota, pricing === null ? null : `$${pricing.perCallUsd}`)}
    </p>
  )
}

type Token = Figures['stats']['tokens'][number]

function trackedOf({ tokens }: Figures['stats']): readonly Token[] {
  return tokens.filter(({ role }) => role !== 'reward')
}

/** One sentence for each figure that is missing. */
function reasonsOf(figures: Figures): readonly string[] {
  const reasons = trackedOf(figures.stats).flatMap((token) => [
    ...(token.circulatingSupply === null ? [whyUnknown(figures.meta, token.symbol)] : []),
    ...(token.priceUsd === null ? [whyNoPrice(figures, token.symbol)] : []),
  ])
  return [...new Set(reasons)]
}

function TokenLines({ token, stats }: { readonly token: Token; readonly stats: Figures['stats'] }) {
  const { symbol, circulatingSupply, totalSupply, holderCount, priceUsd } = token
  const whole = Number(totalSupply)
  const share = whole === 0 ? 0 : (Number(circulatingSupply) / whole) * 100
  return (
    <>
      <Line name={t.circulating(symbol)} note={circulatingSupply && t.ofAll(percent(share))}>
        {circulatingSupply === null ? UNKNOWN : count(circulatingSupply)}
      </Line>
      <Line name={t.holders(symbol)}>{holderCount === null ? UNKNOWN : count(holderCount)}</Line>
      <Line name={t.price(symbol)} note={changeOf(stats.prices[symbol]?.change24hPct)}>
        {price(priceUsd) || UNKNOWN}
      </Line>
    </>
  )
}

/** Eight digits fill the line; a supply of 12 digits must fit too. */
export function sizeOf(units: string): string {
  if (units.length > 15) return 'longer'
  return units.length > 10 ? 'long' : ''
}

function Line(props: {
  readonly name: string
  readonly note?: ComponentChildren
  readonly children: ComponentChildren
}) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd class="d" translate={false}>
        {props.note}
      </dd>
      <dd class="v" translate={false}>
        {props.children}
      </dd>
    </div>
  )
}

/** Falling prices are red. */
function changeOf(change: number | null | undefined) {
  if (change === null || change === undefined) return ''
  const sign = change > 0 ? '+' : ''
  return <span class={change < 0 ? 'down' : ''}>{t.change(sign + percent(change))}</span>
}
