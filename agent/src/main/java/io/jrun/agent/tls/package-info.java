/**
 * Who a peer is, off this machine too: whoever knows the shared secret has one certain key pair, and TLS accepts no other; or whoever one authority has
 * given a certificate.
 * Entry: {@code PeerIdentity}.
 */
@NullMarked
package io.jrun.agent.tls;

import org.jspecify.annotations.NullMarked;
