import type { Done } from '#site/wallet/wallet-figures.ts'
import { Facts } from '../keys/gate.tsx'
import { useWords } from '../parts/file-context.ts'
import { age, amount, count, ordinal, percent, usd } from '../parts/format.ts'
import { useNow } from '../parts/now.ts'
import type { WalletFigures } from '../state/types.ts'
import { walletTexts } from '../wallet-texts.ts'
import { orUnknown, Unknown } from './holdings.tsx'

const t = walletTexts.done

/** What the wallet claimed, dug up and burned. */
export function WalletDone({ figures }: { readonly figures: WalletFigures }) {
  const now = useNow()
  const say = useWords()
  const dugUp = (token: string) => say(t.dugUp(token))
  const { claims, digger, done } = figures
  const digs = done.dig ?? null
  const burns = done.burn ?? null
  return (
    <section class="row" aria-labelledby="done">
      <div class="margin">
        <h2 id="done">{say(t.title)}</h2>
        <p class="note">{t.note}</p>
        {[digs, burns].some((each) => each?.isWhole === false) && <p class="note">{t.newest}</p>}
      </div>
      <div class="body uneven">
        <div>
          <h3 class="sub">
            {t.claimed}
            {claims !== null && (
              <span class="note">
                {t.claims(claims.claimCount)}
                {claims.lastClaimUnix !== null && t.last(age(now - claims.lastClaimUnix))}
              </span>
            )}
          </h3>
          {claims === null ? (
            <Unknown />
          ) : claims.claimCount === 0 ? (
            <p class="quiet">{t.none}</p>
          ) : (
            <Claims claims={claims} />
          )}
        </div>
        <div>
          <h3 class="sub">{say(t.dugAndBurned)}</h3>
          <Facts
            lines={[
              [say(t.digs), digger ? count(digger.digCount) : orUnknown(timesOf(digs))],
              ...(digger === null
                ? amountsOf(digs, dugUp)
                : ([
                    [dugUp(digger.token), amount(digger.totalClaimed)],
                    ...amountsOf(digs, dugUp, digger.token),
                    [say(t.rank), ordinal(digger.rank)],
                    [say(t.share), percent(digger.sharePct)],
                  ] as const)),
              [t.burns, orUnknown(timesOf(burns))],
              ...amountsOf(burns, t.burned),
            ]}
          />
        </div>
      </div>
    </section>
  )
}

/** How often, at least where the list goes on. */
export function timesOf(done: Done | null): string {
  if (done === null) return ''
  const times = done.tokens.reduce((sum, each) => sum + each.count, 0)
  return done.isWhole ? count(times) : t.atLeast(count(times))
}

function amountsOf(done: Done | null, name: (token: string) => string, leftOut?: string) {
  const tokens = (done?.tokens ?? []).filter(({ token }) => token !== leftOut)
  return tokens.map((each) => {
    const sum = amount(each.amount)
    return [name(each.token), done?.isWhole ? sum : t.atLeast(sum)] as const
  })
}

function Claims({ claims }: { readonly claims: NonNullable<WalletFigures['claims']> }) {
  return (
    <table class="claims">
      <thead>
        <tr>
          <th>{t.columns.token}</th>
          <th class="r hide-phone">{t.columns.claims}</th>
          <th class="r">{t.columns.amount}</th>
          <th class="r">{t.columns.atClaim}</th>
          <th class="r hide-phone">{t.columns.now}</th>
        </tr>
      </thead>
      <tbody>
        {claims.tokens.map((each) => (
          <tr key={each.token}>
            <td>{each.token}</td>
            <td class="r hide-phone">{count(each.claimCount)}</td>
            <td class="r amount">{amount(each.amount)}</td>
            <td class="r">{orUnknown(usd(each.usdAtClaim))}</td>
            <td class="r hide-phone">{orUnknown(usd(each.usdNow))}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">{t.together}</th>
          <td class="r hide-phone">{count(claims.claimCount)}</td>
          <td />
          <td class="r">{orUnknown(usd(claims.usdAtClaim))}</td>
          <td class="r hide-phone">{orUnknown(usd(claims.usdNow))}</td>
        </tr>
      </tfoot>
    </table>
  )
}
