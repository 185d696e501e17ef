package io.jrun.comm.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MainMethodTest {
    private static final List<String> CALLS = new ArrayList<>();

    static final class Classic {
        private Classic() {}

        public static void main(String[] args) {
            CALLS.add("static " + args[0]);
        }
    }

    static final class PackagePrivateStatic {
        private PackagePrivateStatic() {}

        static void main(String[] args) {
            CALLS.add("package-private " + args[0]);
        }
    }

    static class Instance {
        void main() {
            CALLS.add("instance of " + getClass().getSimpleName());
        }
    }

    static final class Inheriting extends Instance {}

    static final class Both {
        void main() {
            CALLS.add("not me");
        }

        void main(String[] args) {
            CALLS.add("with " + args[0]);
        }
    }

    interface Runs {
        default void main(String[] args) {
            CALLS.add("interface " + args[0]);
        }
    }

    static final class Implementing implements Runs {}

    static final class PrivateMain {
        private PrivateMain() {}

        @SuppressWarnings({"unused", "IncorrectMainMethod"}) // A likely mistake of a user.
        private static void main(String[] args) {
            CALLS.add("not me");
        }
    }

    static final class NotVoid {
        private NotVoid() {}

        @SuppressWarnings("IncorrectMainMethod") // As above.
        public static int main(String[] args) {
            return args.length;
        }
    }

    static final class NeedsArguments {
        NeedsArguments(int number) {
            CALLS.add("made with " + number);
        }

        void main() {
            CALLS.add("not me");
        }
    }

    @BeforeEach
    void clear() {
        CALLS.clear();
    }

    private static String run(Class<?> mainClass) throws Exception {
        MainMethod.of(mainClass).invoke("argument");
        return CALLS.getLast();
    }

    @Test
    void classesOfTheJavaCommandAreRun() throws Exception {
        assertThat(run(Classic.class)).isEqualTo("static argument");
        assertThat(run(PackagePrivateStatic.class)).isEqualTo("package-private argument");
        assertThat(run(Instance.class)).isEqualTo("instance of Instance");
        assertThat(run(Inheriting.class)).isEqualTo("instance of Inheriting");
        assertThat(run(Both.class)).isEqualTo("with argument");
        assertThat(run(Implementing.class)).isEqualTo("interface argument");
    }

    @Test
    void classesWithoutAMainMethodAreRefusedInALine() {
        assertRefused(PrivateMain.class, "has no main method");
        assertRefused(NotVoid.class, "has no main method");
        assertRefused(NeedsArguments.class, "no constructor without parameters");
        assertThat(CALLS).isEmpty();
    }

    private static void assertRefused(Class<?> mainClass, String text) {
        assertThatThrownBy(() -> MainMethod.of(mainClass))
                .isInstanceOf(NoSuchMethodException.class)
                .hasMessageContaining(mainClass.getName())
                .hasMessageContaining(text);
    }
}
