import { Type } from 'typebox'
import { findKey } from '#callers/keys/key-store.ts'
import { publicIdInQuery } from '#callers/keys/parameters.ts'
import type { Caller } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { keyAccount } from '#ledger/account.ts'
import { CLOSE_AFTER_SECONDS } from '#ledger/close-spend-days.ts'
import { parseMoment } from '#lib/instant.ts'
import type { SigningKeys } from '#lib/signing-keys.ts'
import { type Clock, DAY_SECONDS, startOfDay, toDate, unixNow } from '#lib/time.ts'
import { CSV_TYPE, formatParameter, toCsv, wantsCsv } from '#route/csv.ts'
import { type Parameter, parsed } from '#route/parameter.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { readOpenDay } from './read-entries.ts'
import { StatementRow, toRows } from './statement-rows.ts'
import { SignedStatement } from './statement-shape.ts'
import {
  type Issuer,
  MOVEMENTS_MAX,
  type StatementInput,
  writeStatement,
} from './write-statement.ts'

export interface StatementDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly issuer: Issuer
  readonly keys: SigningKeys
}

/** Never counted. */
export function statementRoute(deps: StatementDeps): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/usage/statement',
    operationId: 'getStatement',
    tag: 'Usage',
    summary: 'A signed statement of charges',
    description:
      'Opening balance, every movement of the period and closing balance of the key in the Authorization header, or of another key of its wallet. It covers whole UTC days that are closed, which they are an hour after they end, and `jws` is the statement signed with a key at `/.well-known/jwks.json`. The same period gives the same statement. CSV shows the same rows without a signature. Asking is free.',
    metered: false,
    csv: true,
    parameters: {
      from: dayParameter('The first day.', '2026-11-01'),
      to: dayParameter('The day after the last.', '2026-12-01'),
      publicId: publicIdInQuery('Another key of the wallet, revoked or not.'),
      format: formatParameter,
    },
    answers: { 200: { description: 'The signed statement.', schema: SignedStatement } },
    refusals: ['not_key_owner', 'key_not_found', 'data_not_ready'],
    async handle(input) {
      const { from, to, publicId, format } = input.parameters
      const checked = await checkQuestion(deps, { from, to, publicId, caller: input.caller })
      if ('kind' in checked) return checked
      const reads = { run: deps.engine.read }
      const statement = await writeStatement({ reads, issuer: deps.issuer }, checked)
      if (statement === undefined)
        return refuseDays('to', `leaves more than ${MOVEMENTS_MAX} movements; ask for fewer days`)
      const headers = { 'Cache-Control': 'no-store' }
      if (wantsCsv(input, format)) {
        const text = toCsv(StatementRow, toRows(statement))
        return answer(200, text, { contentType: CSV_TYPE, headers })
      }
      // Loads jose for the first statement.
      const { signStatement } = await import('./sign-statement.ts')
      return answer(200, await signStatement(deps.keys, statement), { headers })
    },
  })
}

interface Question {
  readonly from: number
  readonly to: number
  readonly publicId: string | undefined
  readonly caller: Caller
}

async function checkQuestion(
  deps: StatementDeps,
  { from, to, publicId, caller }: Question,
): Promise<StatementInput | Refusal> {
  if (caller.kind === 'anonymous')
    return refuse('invalid_api_key', 'send an API key of the wallet as Bearer')
  if (to <= from) return refuseDays('to', `must be later than from, ${toDate(from)}`)
  const closed = startOfDay(unixNow(deps.clock) - CLOSE_AFTER_SECONDS)
  if (to > closed)
    return refuseDays('to', `must be at most ${toDate(closed)}: later days are not closed yet`)
  const reads = { run: deps.engine.read }
  const key = await findKey(reads, publicId ?? caller.publicId)
  if (key === undefined) return refuse('key_not_found', 'no key has this publicId')
  if (key.wallet !== caller.wallet)
    return refuse('not_key_owner', 'this key belongs to another wallet')
  const open = await readOpenDay(reads, { account: keyAccount(key.publicId), to })
  if (open === undefined) return { key, from, to }
  return refuse('data_not_ready', `the calls of ${toDate(open)} are being booked; retry soon`, {
    retryAfterSeconds: 60,
  })
}

function refuseDays(name: 'from' | 'to', reason: string): Refusal {
  const errors = [{ in: 'query', name, reason } as const]
  return refuse('invalid_parameter', `${name} ${reason}`, { errors })
}

function dayParameter(description: string, example: string): Parameter<number> {
  return {
    in: 'query',
    description: `${description} A UTC day, or its midnight as Unix seconds or RFC 3339.`,
    schema: Type.String(),
    example,
    parse(raw = '') {
      const unix = parseUnix(raw)
      if (unix === undefined) return { ok: false, reason: 'must be a UTC day such as 2026-11-01' }
      const day = startOfDay(unix)
      if (unix === day) return parsed(day, toDate(day))
      const next = toDate(day + DAY_SECONDS)
      return {
        ok: false,
        reason: `must be the start of a UTC day, such as ${toDate(day)} or ${next}`,
      }
    },
  }
}

function parseUnix(raw: string): number | undefined {
  const ms = parseMoment(raw)
  return ms === undefined || ms < 0 ? undefined : ms / 1000
}
