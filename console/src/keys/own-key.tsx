import { useEffect, useState } from 'preact/hooks'
import {
  getKeyLimits,
  type KeyLimits,
  listWebhooks,
  SextonError,
  type Webhook,
} from 'sexton-client'
import { save } from '../parts/download.ts'
import { secretInUse, sexton } from '../state/session.ts'
import { texts } from '../texts.ts'
import { Facts } from './gate.tsx'
import { Refusal } from './refusal.tsx'
import { useAction } from './use-action.ts'

const t = texts.ownKey

/** What the key in memory may do, where it reports to, and what it was charged. */
export function OwnKeyFacts({ turn }: { readonly turn: number }) {
  const [limits, setLimits] = useState<KeyLimits>()
  const [webhooks, setWebhooks] = useState<readonly Webhook[]>()
  const action = useAction()
  const publicId = secretInUse()?.split('_').at(-2)
  const read = () =>
    action.run(async () => {
      if (publicId === undefined) return
      setLimits((await getKeyLimits(sexton(), { publicId })).data)
      setWebhooks((await listWebhooks(sexton()).catch(unlessMissing))?.data.webhooks)
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
      <Statements publicId={publicId} />
      <Refusal error={action.error} again={read} />
    </div>
  )
}

/** A service without a key to sign with has no webhooks. */
function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function isMissing(error: unknown): boolean {
  return error instanceof SextonError && error.code === 'not_configured'
}

function limitLines({ limits, paidCallsToday, paidCallsThisMonth }: KeyLimits) {
  const set = Object.entries(limits).flatMap(([name, value]) =>
    value === null
      ? []
      : [[name, Array.isArray(value) ? value.join(', ') : String(value)] as const],
  )
  return [
    ...(set.length === 0 ? [[t.none, t.noneMore] as const] : set),
    [t.paidToday, String(paidCallsToday)] as const,
    [t.paidThisMonth, String(paidCallsThisMonth)] as const,
  ]
}

/** Whole months: a statement covers closed days only. */
function Statements({ publicId }: { readonly publicId: string }) {
  const action = useAction()
  const [last, setLast] = useState<'csv' | 'json'>('csv')
  const { from, to } = lastMonth(new Date())
  const download = (format: 'csv' | 'json') => {
    setLast(format)
    return action.run(async () => {
      const input = { from, to, format }
      const { data } = await sexton().call<unknown>('GET', '/api/usage/statement', input)
      const text = typeof data === 'string' ? data : JSON.stringify(data, null, 2)
      save(new Blob([text]), `statement-${publicId}-${from.slice(0, 7)}.${format}`)
    })
  }
  return (
    <>
      <h3>{t.statements}</h3>
      <p class="note">{t.statementsNote}</p>
      <p class="acts">
        {(['csv', 'json'] as const).map((format) => (
          <button
            key={format}
            type="button"
            class="btn small"
            disabled={action.isRunning}
            onClick={() => download(format)}
          >
            {t.statement(from.slice(0, 7), format.toUpperCase())}
          </button>
        ))}
      </p>
      {isMissing(action.error) ? (
        <p class="quiet">{t.noStatements}</p>
      ) : (
        <Refusal error={action.error} again={() => download(last)} />
      )}
    </>
  )
}

/** The UTC month before the current one; `to` is the first day after it. */
function lastMonth(now: Date): { readonly from: string; readonly to: string } {
  const first = (back: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 10)
  return { from: first(1), to: first(0) }
}
