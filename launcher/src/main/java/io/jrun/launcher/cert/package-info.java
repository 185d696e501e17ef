/**
 * Makes certificates, the only place that needs Bouncy Castle. Its jars lie in {@code lib/cert}, on the class path of neither
 * launcher nor workers; {@code io.jrun.launcher.CertCommand} loads this package together with them. Entry class: {@link
 * io.jrun.launcher.cert.CertificateAuthority}.
 */
@NullMarked
package io.jrun.launcher.cert;

import org.jspecify.annotations.NullMarked;
