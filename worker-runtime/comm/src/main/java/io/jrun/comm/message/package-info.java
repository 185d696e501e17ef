/**
 * Send and receive with tags: posted receives, unexpected messages, and which message goes to which receive.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend} and {@code operation}.
 */
@NullMarked
package io.jrun.comm.message;

import org.jspecify.annotations.NullMarked;
