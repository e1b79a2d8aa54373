import { useQuota } from '../state/session.ts'
import { texts } from '../texts.ts'
import { clock, count } from './format.ts'

/** What is left of the person's day, once a call was sent; a full bar when it is used up. */
export function QuotaLine() {
  const { quota, hasKey } = useQuota()
  if (quota === undefined) return null
  const limit = count(quota.limit)
  const share = quota.limit === 0 ? 0 : (quota.limit - quota.remaining) / quota.limit
  return (
    <span class="quota" role="status" translate={false}>
      <span class="track">
        <i style={{ width: `${share * 100}%` }} />
      </span>
      {quota.remaining > 0 ? (
        <span class="note">
          {texts.quota.left(count(quota.remaining), limit)},{' '}
          {hasKey ? texts.quota.withKey : texts.quota.withoutKey}
        </span>
      ) : (
        <span class="note">
          <b>{texts.quota.used(limit)}</b> {texts.quota.usedMore(clock(quota.resetUnix))}{' '}
          <a href="/keys">{texts.quota.add}</a>
        </span>
      )}
    </span>
  )
}
