/** Tests of this package. */
@NullMarked
package io.jrun.agent.worker;

import org.jspecify.annotations.NullMarked;
