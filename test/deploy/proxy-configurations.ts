import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const FOLDER = join(import.meta.dirname, '../../deploy')

export interface Certificate {
  readonly certificate: string
  readonly key: string
}

export async function makeCertificate(folder: string): Promise<Certificate> {
  const place = { certificate: join(folder, 'fullchain.pem'), key: join(folder, 'privkey.pem') }
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', place.key, '-out', place.certificate]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '2', ...subject, ...files],
  ])
  return place
}

interface ProxyPlaces {
  readonly folder: string
  readonly certificate: Certificate
  /** 443 unless given. */
  readonly port?: number
  /** Those of the file unless given. */
  readonly upstreams?: readonly [number, number]
}

/** `deploy/nginx.conf` within a main configuration, with places of this machine. */
export async function nginxConfiguration(places: ProxyPlaces): Promise<string> {
  const { folder, certificate, port = 443, upstreams = [4020, 4030] } = places
  const site = (await readFile(join(FOLDER, 'nginx.conf'), 'utf8'))
    .replace('listen 443 ', `listen 127.0.0.1:${port} `)
    .replace('127.0.0.1:4020', `127.0.0.1:${upstreams[0]}`)
    .replace('127.0.0.1:4030', `127.0.0.1:${upstreams[1]}`)
    .replace('/etc/ssl/sexton/fullchain.pem', certificate.certificate)
    .replace('/etc/ssl/sexton/privkey.pem', certificate.key)
  return nginxMain(folder, `access_log off;\n${site}`)
}

/** A main configuration that writes into a folder only. */
export function nginxMain(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events {}
http {
${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
${http}
}
`
}

/** `deploy/Caddyfile` on this machine only, without its administration and with a given certificate. */
export async function caddyConfiguration({
  certificate,
  port = 443,
}: ProxyPlaces): Promise<string> {
  const site = await readFile(join(FOLDER, 'Caddyfile'), 'utf8')
  const address = '{$SEXTON_DOMAIN:localhost} {\n'
  const bound = `https://localhost:${port} {
	bind 127.0.0.1
	tls ${certificate.certificate} ${certificate.key}
`
  return `{\n\tadmin off\n\tauto_https off\n}\n${site.replace(address, bound)}`
}
