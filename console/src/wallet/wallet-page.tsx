import { useEffect, useState } from 'preact/hooks'
import {
  type DividendClaim,
  getGate,
  getWalletClaims,
  type Leader,
  rankGraveDiggers,
  type WalletClaims,
} from 'sexton-client'
import { age, amount, count, percent, usd } from '../parts/format.ts'
import { useNow } from '../parts/now.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { QuotaLine } from '../parts/quota-line.tsx'
import { sexton } from '../state/session.ts'
import { texts } from '../texts.ts'

const t = texts.wallet

interface Shown {
  readonly claims: WalletClaims
  readonly nextCursor: string | null
  readonly leader: Leader | undefined
  readonly tier: string | undefined
  /** Metered calls spent so far. */
  readonly calls: number
}

/** One wallet at an address of its own; opening it is a request, so its figures are calls. */
export function WalletPage({ address }: { readonly address: string }) {
  const [shown, setShown] = useState<Shown>()
  const [failure, setFailure] = useState<unknown>()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    setFailure(undefined)
    readWallet(address).then(setShown, setFailure)
  }, [address, turn])
  const more = async () => {
    const cursor = shown?.nextCursor
    if (!shown || !cursor) return
    try {
      const { data, meta, cost } = await getWalletClaims(sexton(), { address, cursor })
      const claims = { ...shown.claims, claims: [...shown.claims.claims, ...data.claims] }
      const calls = shown.calls + cost.calls
      setShown({ ...shown, claims, calls, nextCursor: meta.page.nextCursor })
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <section class="row" aria-labelledby="wallet">
      <div class="margin">
        <h1 id="wallet">{t.title}</h1>
        {shown !== undefined && <p class="note">{t.note(shown.calls)}</p>}
        {shown !== undefined && shown.leader === undefined && <p class="note">{t.digsNote}</p>}
        <QuotaLine />
      </div>
      <div class="body stack">
        {failure !== undefined && (
          <ProblemNote error={failure} again={() => setTurn((value) => value + 1)} />
        )}
        {shown === undefined ? (
          <div class="lines" role="img" aria-label={t.loading} />
        ) : (
          <>
            <Summary address={address} shown={shown} />
            <Claims claims={shown.claims.claims} />
            {shown.nextCursor !== null && (
              <button type="button" class="btn" onClick={more}>
                {t.more}
              </button>
            )}
          </>
        )}
      </div>
    </section>
  )
}

async function readWallet(address: string): Promise<Shown> {
  const client = sexton()
  const [claims, leaders, gate] = await Promise.all([
    getWalletClaims(client, { address }),
    rankGraveDiggers(client, { limit: 100 }),
    // The tier is a detail: where there is no gate, the page goes without it.
    getGate(client, { address }).catch(() => undefined),
  ])
  return {
    claims: claims.data,
    nextCursor: claims.meta.page.nextCursor,
    leader: leaders.data.find((each) => each.address === claims.data.address),
    tier: gate?.data.tier,
    calls: claims.cost.calls + leaders.cost.calls,
  }
}

function Summary({ address, shown }: { readonly address: string; readonly shown: Shown }) {
  const { claims, leader, tier } = shown
  const { summary } = claims
  const [isCopied, setCopied] = useState(false)
  const now = useNow()
  return (
    <div class="wallet">
      <div>
        <h2 class="addr">{claims.address}</h2>
        <p class="tags">
          {tier !== undefined && <span class="tag good">{tier}</span>}
          {leader !== undefined && (
            <>
              <span class="tag">{t.digs(count(leader.digCount))}</span>
              <span class="tag">{t.share(percent(leader.sharePct))}</span>
            </>
          )}
        </p>
        <dl class="sum">
          <Sum name={t.atClaim} value={usd(summary.usdAtClaim) || '—'} />
          <Sum name={t.now} value={usd(summary.usdNow) || '—'} />
          {leader !== undefined && (
            <Sum name={t.dug(leader.token)} value={amount(leader.totalClaimed)} />
          )}
          <Sum
            name={t.lastSeen}
            value={
              summary.lastClaimUnix === null ? t.never : texts.ago(age(now - summary.lastClaimUnix))
            }
          />
        </dl>
      </div>
      <div class="wide">
        <Tokens tokens={summary.tokens} />
        <p class="acts">
          <button
            type="button"
            class="btn small"
            onClick={() =>
              navigator.clipboard
                .writeText(`${location.origin}/wallet/${address}`)
                .then(() => setCopied(true))
            }
          >
            {isCopied ? t.copied : t.copy}
          </button>
        </p>
      </div>
    </div>
  )
}

function Tokens({ tokens }: { readonly tokens: WalletClaims['summary']['tokens'] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>{t.columns.token}</th>
          <th class="r">{t.columns.claims}</th>
          <th class="r">{t.columns.amount}</th>
          <th class="r hide-phone">{t.columns.valueThen}</th>
          <th class="r hide-phone">{t.columns.now}</th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((each) => (
          <tr key={each.token}>
            <td>{each.token}</td>
            <td class="r">{count(each.claimCount)}</td>
            <td class="r amount">{amount(each.amount)}</td>
            <td class="r hide-phone">{usd(each.usdAtClaim)}</td>
            <td class="r hide-phone quiet">{usd(each.usdNow)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Sum({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function Claims({ claims }: { readonly claims: readonly DividendClaim[] }) {
  const now = useNow()
  if (claims.length === 0) return <p class="quiet">{t.none}</p>
  return (
    <div class="wide">
      <h2 class="sub">{t.newest}</h2>
      <table>
        <thead>
          <tr>
            <th>{texts.entries.columns.ago}</th>
            <th class="r">{texts.entries.columns.amount}</th>
            <th>
              <span class="vh">{texts.entries.columns.token}</span>
            </th>
            <th class="r">{t.columns.valueThen}</th>
            <th class="hide-phone">{texts.entries.columns.chain}</th>
          </tr>
        </thead>
        <tbody>
          {claims.map((claim) => (
            <tr key={claim.id}>
              <td class="ago">{age(now - claim.timestampUnix)}</td>
              <td class="r amount">{amount(claim.amount)}</td>
              <td class="tok">{claim.token}</td>
              <td class="r quiet">{usd(claim.amountUsdAtEvent)}</td>
              <td class="hide-phone">{claim.chain}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
