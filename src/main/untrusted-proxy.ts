import ipaddr from 'ipaddr.js'
import type { Logger } from 'pino'
import type { PipelineDeps } from '#api/pipeline.ts'

/** Networks of which a proxy on the same machine or beside it is a part. */
const NEAR: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'linkLocal']

/**
 * Warns once where a proxy that is not trusted seems to stand in front: all its clients would share
 * one quota. A far peer may send the header at will, and is no reason to warn.
 */
export function warnOfUntrustedProxy(
  deps: {
    readonly logger: Pick<Logger, 'warn'>
    isProxy(socketAddress: string): boolean
  },
  addressBucket: PipelineDeps['addressBucket'],
): PipelineDeps['addressBucket'] {
  let hasWarned = false
  return (socketAddress, headers) => {
    if (!hasWarned && headers['x-forwarded-for'] !== undefined && isNear(socketAddress)) {
      hasWarned = !deps.isProxy(socketAddress)
      if (hasWarned)
        deps.logger.warn(
          `X-Forwarded-For from ${socketAddress} is ignored, so its clients share one quota; if it is your proxy, set SEXTON_TRUSTED_PROXIES=${plain(socketAddress)}`,
        )
    }
    return addressBucket(socketAddress, headers)
  }
}

function isNear(socketAddress: string): boolean {
  return ipaddr.isValid(socketAddress) && NEAR.includes(ipaddr.process(socketAddress).range())
}

/** Without IPv6 around an IPv4 address. */
function plain(socketAddress: string): string {
  return ipaddr.process(socketAddress).toString()
}
