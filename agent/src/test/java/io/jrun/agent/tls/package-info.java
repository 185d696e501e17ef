/** Tests of this package. */
@NullMarked
package io.jrun.agent.tls;

import org.jspecify.annotations.NullMarked;
