import type { ComponentChildren } from 'preact'
import { count, percent, price, splitAmount, usd } from '../parts/format.ts'
import type { Figures } from '../state/types.ts'
import { texts } from '../texts.ts'

const t = texts.headline

const UNKNOWN = '—'

/** One figure, and five others as an account closed by a double rule. */
export function Headline({ figures }: { readonly figures: Figures }) {
  const { stats, burns, meta } = figures
  const [token] = stats.tokens
  const symbol = token?.symbol ?? ''
  const [units, rest] = stats.totalBurned === null ? [UNKNOWN, ''] : splitAmount(stats.totalBurned)
  const blocks = meta.chains.map(({ chain, blockNumber }) => t.block(count(blockNumber), chain))
  const has = (part: (typeof meta.notConfigured)[number]) => !meta.notConfigured.includes(part)
  return (
    <section class="row hero" aria-labelledby="burned">
      <div class="margin">
        <p class="note">{t.asOf(blocks.join(', '))}</p>
        <p class="note">{t.free}</p>
      </div>
      <div class="body">
        <div>
          <h1 id="burned">{t.title(symbol)}</h1>
          <p class={`big ${sizeOf(units)}`}>
            {units}
            <small>{rest}</small>
          </p>
          <p class="under">
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
        <dl class="account">
          <Circulating stats={stats} />
          <Line name={t.holders}>
            {stats.holderCount === null ? UNKNOWN : count(stats.holderCount)}
          </Line>
          <Line name={t.price(symbol)} note={changeOf(stats.prices[symbol]?.change24hPct)}>
            {price(token?.priceUsd ?? null) || UNKNOWN}
          </Line>
          {has('graveDigs') && <Line name={t.digs}>{count(stats.graveDigs.count)}</Line>}
          {has('dividends') && (
            <Line name={t.dividends}>{usd(stats.lifetimeDividendsUsdAtPayout) || UNKNOWN}</Line>
          )}
        </dl>
      </div>
    </section>
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
      <dd class="d">{props.note}</dd>
      <dd class="v">{props.children}</dd>
    </div>
  )
}

function Circulating({ stats }: { readonly stats: Figures['stats'] }) {
  const { circulatingSupply, totalSupply } = stats
  if (circulatingSupply === null) return <Line name={t.circulating}>{UNKNOWN}</Line>
  const whole = Number(totalSupply)
  const share = whole === 0 ? 0 : (Number(circulatingSupply) / whole) * 100
  return (
    <Line name={t.circulating} note={t.ofAll(percent(share))}>
      {count(circulatingSupply)}
    </Line>
  )
}

/** Falling prices are red. */
function changeOf(change: number | null | undefined) {
  if (change === null || change === undefined) return ''
  const sign = change > 0 ? '+' : ''
  return <span class={change < 0 ? 'down' : ''}>{t.change(sign + percent(change))}</span>
}
