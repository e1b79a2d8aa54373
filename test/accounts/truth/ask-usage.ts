import type { UsageSaid } from './compare-accounts.ts'
import { openRawLine } from './raw-line.ts'
import type { Calling } from './who-calls.ts'

/** Asks GET /api/usage for each of those who can still call; keys that end meanwhile are left out. */
export async function askUsage(url: string, callers: readonly Calling[]): Promise<UsageSaid[]> {
  const line = openRawLine(url)
  const said: UsageSaid[] = []
  for (const { caller, headers } of callers) {
    const request = `GET /api/usage HTTP/1.1\r\nHost: api\r\n${headers}\r\n`
    const answer = await line.ask(request, { isHead: false })
    if (answer === undefined) throw new Error(`${url} ended a line by itself`)
    if (answer.status === 401) continue
    if (answer.status !== 200) throw new Error(`usage was refused: ${answer.body}`)
    const body = JSON.parse(answer.body)
    const prepaidMicroUsd = Math.round(body.prepaidBalanceUsd * 1e6)
    said.push({ ...body, caller, prepaidMicroUsd })
  }
  line.cut()
  return said
}
