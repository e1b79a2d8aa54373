import { SextonError } from 'sexton-client'
import { texts } from '../texts.ts'

/** More calls change these, which the quota's line leads to; the same call again does not. */
const USED_UP = ['quota_exceeded', 'payment_required']

/** A refusal in its own words, with a link to its page, and one next step. */
export function ProblemNote({ error, again }: { readonly error: unknown; again?(): void }) {
  const code = error instanceof SextonError ? error.code : undefined
  return (
    <p class="problem" role="alert">
      <span>{error instanceof Error ? error.message : texts.problem.title}</span>{' '}
      {code !== undefined && !code.startsWith('http_') && (
        <a href={`/problems/${code}`}>
          <code>{code}</code>
        </a>
      )}{' '}
      {again !== undefined && !USED_UP.includes(code ?? '') && (
        <button type="button" class="btn small" onClick={again}>
          {texts.problem.again}
        </button>
      )}
    </p>
  )
}
