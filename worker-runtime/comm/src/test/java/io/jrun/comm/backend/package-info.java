/** Tests of what data planes share. */
@NullMarked
package io.jrun.comm.backend;

import org.jspecify.annotations.NullMarked;
