import type { Leader } from 'sexton-client'
import { count } from '../parts/format.ts'
import { Who } from '../parts/who.tsx'
import { texts } from '../texts.ts'

const t = texts.leaders

export function Leaders({ leaders }: { readonly leaders: readonly Leader[] }) {
  const [first] = leaders
  if (first === undefined) return null
  return (
    <div class="body leaders">
      <h3 class="sub">
        {t.title}{' '}
        <a class="note" href="/entries/diggers">
          {t.all}
        </a>
      </h3>
      <table class="lead">
        <thead>
          <tr>
            <th class="r">{t.columns.rank}</th>
            <th>{t.columns.wallet}</th>
            <th class="r">{t.columns.claimed(first.token)}</th>
            <th class="r">{t.columns.digs}</th>
          </tr>
        </thead>
        <tbody>
          {leaders.map(({ rank, address, totalClaimed, digCount, sharePct }) => (
            <tr key={address}>
              <td class="rank">{rank}</td>
              <td>
                <Who address={address} />
                <span class="share" style={{ width: `${(sharePct / first.sharePct) * 100}%` }} />
              </td>
              <td class="r amount">{count(totalClaimed)}</td>
              <td class="r quiet">{count(digCount)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
