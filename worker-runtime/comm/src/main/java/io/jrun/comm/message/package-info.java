/** Send and receive with tags: posted receives, unexpected messages, and which message goes to which receive. */
@NullMarked
package io.jrun.comm.message;

import org.jspecify.annotations.NullMarked;
