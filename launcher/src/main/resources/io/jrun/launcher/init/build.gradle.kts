plugins {
    java
}

repositories {
    mavenLocal { content { includeGroup("io.jrun") } } // 'jrun init' has installed jrun there
    mavenCentral()
}

dependencies {
    // jrun puts its runtime and libtorch on the class path of its workers. The project's jar does not contain them.
    compileOnly(platform("io.jrun:jrun-bom:@version@"))
    compileOnly("io.jrun:@module@")
}

java {
    toolchain { languageVersion = JavaLanguageVersion.of(25) }
}

tasks.jar {
    manifest { attributes("Main-Class" to "com.example.Train") }
}

// gradle jrun
tasks.register<Exec>("jrun") {
    dependsOn(tasks.jar)
    commandLine("jrun", "--nproc-per-node=2", tasks.jar.get().archiveFile.get().asFile)
}
