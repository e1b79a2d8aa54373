import type { Leader } from 'sexton-client'
import { useWords } from '../parts/file-context.ts'
import { count } from '../parts/format.ts'
import { Who } from '../parts/who.tsx'
import { texts } from '../texts.ts'

const t = texts.leaders

export function Leaders({ leaders }: { readonly leaders: readonly Leader[] }) {
  const say = useWords()
  const [first] = leaders
  if (first === undefined) return null
  return (
    <div class="body leaders">
      <h3 class="sub">
        {say(t.title)}{' '}
        <a class="note" href="/entries/diggers">
          {say(t.all)}
        </a>
      </h3>
      <table class="lead">
        <thead>
          <tr>
            <th class="r">{t.columns.rank}</th>
            <th>{t.columns.wallet}</th>
            <th class="r">{t.columns.claimed(first.token)}</th>
            <th class="r">{say(t.columns.digs)}</th>
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
              <td class="r amount" translate={false}>
                {count(totalClaimed)}
              </td>
              <td class="r quiet">{count(digCount)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
