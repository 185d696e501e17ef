/**
 * Send and receive with tags: posted receives, unexpected messages, and their matching.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code control} and {@code operation}.
 */
@NullMarked
package io.jrun.comm.message;

import org.jspecify.annotations.NullMarked;
