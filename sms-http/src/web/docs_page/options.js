        filter: true,
        persistAuthorization: keeps,
        requestInterceptor: askFirst,
        docExpansion: 'list',
        defaultModelsExpandDepth: 0,
        displayRequestDuration: true,
        onComplete: () => setTimeout(() => {
          const held = Object.values(window.docs.authSelectors.authorized()?.toJS() ?? {});
          if (held.some((one) => isLive(one.value))) {
            document.getElementById('live').style.display = 'block';
          }
        }),
