/**
 * Authenticates peers on this machine and on others: by a key pair that is derived from a shared secret, or by
 * certificates of one authority. Entry class: {@code PeerIdentity}.
 */
@NullMarked
package io.jrun.agent.tls;

import org.jspecify.annotations.NullMarked;
