import { useEffect, useState } from 'preact/hooks'
import {
  getUsage,
  getUsageHistory,
  type Usage as UsageAnswer,
  type UsageDay,
  type UsageHistory,
} from 'sexton-client'
import { secretInUse, sexton } from '../state/session.ts'
import { useAction } from './use-action.ts'

const DAYS = 14
const AGAIN_MS = 15_000

/** Calls of the key in memory and of the other keys of its wallet; `turn` changes when there may be news. */
export function useUsage(turn: number) {
  const [usage, setUsage] = useState<UsageAnswer>()
  const [history, setHistory] = useState<UsageHistory>()
  const action = useAction()
  const read = () =>
    action.run(async () => {
      setUsage((await getUsage(sexton())).data)
      setHistory((await getUsageHistory(sexton(), { days: DAYS })).data)
    })
  useEffect(() => {
    const look = () => {
      if (secretInUse() !== undefined && document.visibilityState === 'visible') read()
    }
    look()
    const timer = setInterval(look, AGAIN_MS)
    return () => clearInterval(timer)
  }, [turn])
  return { usage, days: history?.history ?? [], error: action.error, read }
}

export interface UseOfKey {
  readonly today: number
  /** `YYYY-MM-DD`; undefined without a call in two weeks. */
  readonly last: string | undefined
}

export function useOfKey(days: readonly UsageDay[], publicId: string): UseOfKey {
  const callsOn = ({ keys }: UsageDay) =>
    keys.find((each) => each.publicId === publicId)?.requestCount ?? 0
  const today = days.at(-1)
  return {
    today: today === undefined ? 0 : callsOn(today),
    last: days.findLast((day) => callsOn(day) > 0)?.date,
  }
}
