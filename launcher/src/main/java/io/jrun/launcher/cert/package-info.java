/**
 * Makes certificates. Only this package needs Bouncy Castle. Bouncy Castle's jars lie in {@code lib/cert}, and are on
 * the class path of neither launcher nor workers. {@code io.jrun.launcher.CertCommand} loads this package together with
 * the jars. Entry class: {@link io.jrun.launcher.cert.CertificateAuthority}.
 */
@NullMarked
package io.jrun.launcher.cert;

import org.jspecify.annotations.NullMarked;
