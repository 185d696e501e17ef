package io.jrun.agent.container.builtin;

import java.util.List;

/** The shell of commands that hand the environment of a worker on. Stateless. */
public final class Shell {
    /**
     * The beginning of a command; a script and its arguments follow. dash, the sh of Debian, drops variables whose names
     * are no identifiers, such as exported functions. bash with -p hands all variables on, and neither runs nor defines
     * what they say.
     */
    public static final List<String> EXACT = List.of("/bin/bash", "-p", "-c");

    private Shell() {}
}
