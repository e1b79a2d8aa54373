import { useEffect, useState } from 'preact/hooks'
import { getKeyLimits, type KeyLimits, listWebhooks, type Webhook } from 'sexton-client'
import { secretInUse, sexton } from '../state/session.ts'
import { texts } from '../texts.ts'
import { Facts } from './gate.tsx'
import { Refusal } from './refusal.tsx'
import { useAction } from './use-action.ts'

const t = texts.ownKey

/** What the key in memory may do, and where it reports to. */
export function OwnKeyFacts({ turn }: { readonly turn: number }) {
  const [limits, setLimits] = useState<KeyLimits>()
  const [webhooks, setWebhooks] = useState<readonly Webhook[]>()
  const action = useAction()
  const publicId = secretInUse()?.split('_').at(-2)
  const read = () =>
    action.run(async () => {
      if (publicId === undefined) return
      setLimits((await getKeyLimits(sexton(), { publicId })).data)
      setWebhooks((await listWebhooks(sexton())).data.webhooks)
    })
  useEffect(() => void read(), [turn, publicId])
  if (publicId === undefined) return null
  return (
    <div class="stack">
      <h2 class="sub">
        {t.title} <span class="note code">{publicId}</span>
      </h2>
      {limits !== undefined && (
        <>
          <h3>{t.limits}</h3>
          <p class="note">
            {t.limitsNote} <a href="/docs/limits">{t.more}</a>
          </p>
          <Facts lines={limitLines(limits)} />
        </>
      )}
      {webhooks !== undefined && (
        <>
          <h3>{t.webhooks}</h3>
          <p class="note">
            {t.webhooksNote} <a href="/docs/webhooks">{t.more}</a>
          </p>
          {webhooks.length === 0 ? (
            <p class="quiet">{t.noWebhooks}</p>
          ) : (
            <Facts
              lines={webhooks.map(({ url, state, reason, delivered }) => [
                url,
                t.webhook(reason === null ? state : `${state} (${reason})`, delivered),
              ])}
            />
          )}
        </>
      )}
      <Refusal error={action.error} again={read} />
    </div>
  )
}

function limitLines({ dailyCapUsd, expiresAt, spentTodayUsd }: KeyLimits) {
  const isLimited = dailyCapUsd !== null || expiresAt !== null
  return [
    ...(isLimited ? [] : [[t.none, t.noneMore] as const]),
    ...(dailyCapUsd === null ? [] : [[t.dailyCap, `$${dailyCapUsd}`] as const]),
    ...(expiresAt === null ? [] : [[t.expires, expiresAt] as const]),
    [t.spentToday, `$${spentTodayUsd}`] as const,
  ]
}
