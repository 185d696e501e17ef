package io.jrun.launcher.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.source.SourceDirectives.Dependency;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SourceCompilerTest {
    @TempDir
    Path folder;

    private final List<String> notices = new ArrayList<>();
    private SourceCompiler compiler;

    @BeforeEach
    void open() {
        compiler = new SourceCompiler(
                Map.of("XDG_CACHE_HOME", folder.resolve("cache").toString()), notices::add);
    }

    @Test
    void theCacheHasTheProgramUntilASourceFileChanges() throws Exception {
        Path source = write("Train.java", "String text() { return Other.text(); } void main() {}");
        Path other = write("Other.java", "class Other { static String text() { return \"first\"; } }");
        SourceProgram first = compile(source);
        assertThat(first.mainClass()).isEqualTo("Train");
        assertThat(text(first)).isEqualTo("first");
        assertThat(compile(source)).isEqualTo(first);

        Files.writeString(other, "class Other { static String text() { return \"second\"; } }");
        SourceProgram second = compile(source);
        assertThat(text(second)).isEqualTo("second");
        assertThat(first.jar()).as("a running job may start workers again").exists();

        Files.delete(second.jar());
        assertThat(compile(source).jar()).isEqualTo(second.jar()).exists();
        assertThat(notices).isEmpty();
        try (var files = Files.list(folder.resolve("cache/jrun/sources"))) {
            assertThat(files)
                    .as("two jars, their last uses and what the cache knows")
                    .hasSize(5);
        }
    }

    /** A running job compares the time of the jar: a second launcher of the same file must not change it. */
    @Test
    void aJarKeepsItsTimeWhileStartsUseIt() throws Exception {
        Path source = write("Train.java", "void main() {}");
        SourceProgram program = compile(source);
        FileTime before = FileTime.from(Instant.now().minus(Duration.ofDays(40)));
        Files.setLastModifiedTime(program.jar(), before);
        Path unused = Files.writeString(program.jar().resolveSibling("Unused-0123456789abcdef.jar"), "");
        Files.setLastModifiedTime(unused, before);
        assertThat(compile(source)).isEqualTo(program);
        assertThat(Files.getLastModifiedTime(program.jar())).isEqualTo(before);

        compile(write("Other.java", "void main() {}")); // deletes what is not used
        assertThat(program.jar()).exists();
        assertThat(unused).doesNotExist();
    }

    @Test
    void theMainClassIsTheFirstOfTheFileInItsPackage() throws IOException {
        Path source = write(
                "com/example/Two.java",
                "package com.example; interface First { static void main() { new Third(); } } class Two {}");
        write("com/example/Third.java", "package com.example; class Third {}");
        assertThat(compile(source).mainClass()).isEqualTo("com.example.First");
        Path elsewhere = write("Two.java", "package com.example; class Two {}");
        assertThat(compile(elsewhere).mainClass()).isEqualTo("com.example.Two");
    }

    @Test
    void theCompilerOpensRegularFilesOnly() throws Exception {
        assertThat(new ProcessBuilder("mkfifo", folder.resolve("Pipe.java").toString())
                        .start()
                        .waitFor())
                .isZero();
        Path user = write("User.java", "class User { Pipe pipe; }");
        assertThatThrownBy(() -> compile(user)).isInstanceOf(UsageException.class);
        assertThat(notices).singleElement().asString().contains("cannot find symbol");
    }

    @Test
    void theMessagesOfTheCompilerDoNotControlTheTerminal() throws IOException {
        Path red = write("Red.java", "class Red { int x = \"\u001b[31m\"; }");
        assertThatThrownBy(() -> compile(red)).isInstanceOf(UsageException.class);
        assertThat(notices).singleElement().asString().contains("\"?[31m\"");
    }

    @Test
    void anErrorHasTheMessagesOfTheCompiler() throws IOException {
        Path wrong = write("Wrong.java", "class Wrong { int x = \"a\"; }");
        assertThatThrownBy(() -> compile(wrong))
                .isInstanceOf(UsageException.class)
                .hasMessage("Wrong.java does not compile; the compiler's messages are above.");
        assertThat(notices)
                .singleElement()
                .asString()
                .contains("Wrong.java:1: error: incompatible types: String cannot be converted to int");
        assertThatThrownBy(() -> compile(write("Empty.java", "")))
                .hasMessage("Empty.java has no class. Write a class with a main method.");
        assertThatThrownBy(() -> compile(Files.write(folder.resolve("Bytes.java"), new byte[] {(byte) 0xff})))
                .hasMessage("Bytes.java is not UTF-8. Save the file as UTF-8.");
    }

    @Test
    void aLineOfJBangNamesDependencies() {
        SourceDirectives read = SourceDirectives.read("T.java", """
                ///usr/bin/env jbang "$0" "$@" ; exit $?
                //DEPS com.example:one:1.0 com.example:two:2:sources@zip
                //DEPS io.jrun:jrun-parallel:0.1.0 org.bytedeco:pytorch:2.10.0-1.5.13
                //REPOS mavencentral
                // DEPS of a comment
                """);
        assertThat(read.dependencies())
                .containsExactly(
                        new Dependency("com.example", "one", "1.0", "", ""),
                        new Dependency("com.example", "two", "2", "sources", "zip"));
        assertThat(read.notes()).containsExactly("T.java, line 4: jrun does not read //REPOS, only //DEPS");
        assertThatThrownBy(() -> SourceDirectives.read("T.java", "\n//DEPS com.example:one"))
                .hasMessage("T.java, line 2: 'com.example:one' is no dependency. Write //DEPS group:artifact:version.");
    }

    private SourceProgram compile(Path source) {
        return compiler.compile(String.valueOf(source.getFileName()), source, List.of(), List.of());
    }

    private Path write(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private static String text(SourceProgram program) throws Exception {
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {program.jar().toUri().toURL()})) {
            Class<?> type = loader.loadClass(program.mainClass());
            var constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            var method = type.getDeclaredMethod("text");
            method.setAccessible(true);
            return (String) method.invoke(constructor.newInstance());
        }
    }
}
